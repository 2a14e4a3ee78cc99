# Macros, repetitions and conditions: what they make is one statement each.
	.macro	bump r, n=1
	addl	$\n, \r
	.if	\n > 1
	nop; nop
	.endif
	.endm
	.macro	table
	.long	1, 2, 3
	.endm
	.text
	.globl	main
main:	xorl	%eax, %eax
	movl	$4, %ecx
1:	bump	%eax
	bump	%eax, 3; decl %ecx
	jnz	1b
	.rept	3
	incl	%eax
	xorl	$5, %eax
	.endr
	.irp	r, eax, edx
	leal	1(%\r), %\r
	.endr
	.set	THREE, 3
	.if	THREE == 3
	addl	$2, %eax
	.else
	addl	$7, %eax
	.endif
	andl	$63, %eax
	ret
	.rept	3
	.long	-1			# data, never run
	.endr
	.data
	table
	.rept	4
	.quad	main - .
	.endr
	.section .note.GNU-stack, "", @progbits
