# Assembler as people write it: whatever can go wrong with flags, labels, prefixes,
# fills, data in code and jumps of short reach.
	.text
	.globl	main
	.type	main, @function
main:
	pushq	%rbx
	xorl	%ebx, %ebx
	call	prefixes
	call	short_reach
	call	fills
	call	tables
	call	flags
	call	position
	call	strings
	call	cold
	call	wide
	movl	%ebx, %eax
	andl	$63, %eax
	popq	%rbx
	ret
	.size	main, .-main

prefixes:
	lock
	addl	$1, word(%rip); lock; incl word(%rip)
	rep; nop
	rep
	ret
	.byte	0xde, 0xad, 0xbe, 0xef		# never run
	.type	bytes, @function
bytes:	.byte	0xff, 0xc3			# incl %ebx
	.byte	0xc3				# ret

short_reach:
	call	bytes
	movl	$5, %ecx
0:	addl	$1, %ebx; jc 9f
	cmpl	$3, %ebx; je 1f; cmpl $4, %ebx; je 1f; cmpl $5, %ebx; je 1f; cmpl $6, %ebx; je 1f
	cmpl	$7, %ebx; je 1f; cmpl $8, %ebx; je 1f; cmpl $9, %ebx; je 1f
1:	loop	0b
	movl	$3, %ecx
2:	addl	$2, %ebx; testl $1, %ebx
	loopne	2b
	xorl	%ecx, %ecx
	jrcxz	3f
	ud2
3:	jecxz	4f
	ud2
4:	jmp	9f
9:	ret

fills:
	movl	$3, %ecx
	jmp	2f
	.p2align 5
1:	incl	%ebx
	.p2align 4				# run through
2:	decl	%ecx
	jns	1b
	.balign	16, 0x90
	.nops	7
	ret

tables:						# a jump table in code
	movl	$2, %ecx
	leaq	7f(%rip), %rdx
0:	movslq	(%rdx,%rcx,4), %rax
	addq	%rdx, %rax
	jmp	*%rax
	.p2align 2
7:	.long	1f-7b, 2f-7b, 3f-7b
1:	incl	%ebx
	ret
2:	addl	$3, %ebx
3:	addl	$5, %ebx
	decl	%ecx
	jns	0b
	ret

sets_carry:	stc
	ret
reads_carry:	adcl $0, %ebx
	ret
flags:						# everything live, everywhere
	call	sets_carry
	adcl	$1, %ebx
	stc
	call	reads_carry
	pushfq
	popq	%rax
	movl	$0x7f, %eax
	addb	$1, %al				# OF and SF
	jno	8f
1:	jns	8f
2:	jp	3f
3:	jl	4f
	jg	8f
4:	jbe	5f
5:	seto	%al
	addl	%eax, %ebx
	movl	$0x80000000, %eax
	cmpl	$1, %eax
	jo	6f
	ud2
6:	jge	8f
	lahf
	movb	$0, %ah
	sahf
	jz	8f
	movl	$4, %ecx
	clc
7:	rcll	$1, %ebx
	leal	-1(%rcx), %ecx
	jrcxz	8f
	jmp	7b
8:	sbbl	%eax, %eax
	xorl	%ecx, %ecx
	stc
	shll	%cl, %ebx			# leaves the carry
	jnc	9f
	adcl	$1, %ebx
9:	ret

position:
	call	1f				# its own address
1:	popq	%rax
	leaq	2f(%rip), %rax
	jmp	*%rax
	.ascii	"text; in # code\"", "/*"
2:	incl	%ebx ; /* a comment; with a jump */ incl %ebx
	movl	$';', %eax; subl $'#', %eax /* over
	two lines */; addl %eax, %ebx
	pushq	$0
	movq	$2, -8(%rsp)			# the red zone
	cmpq	$1, -8(%rsp)
	jg	3f
	nop
3:	jl	4f
	addl	-8(%rsp), %ebx
4:	popq	%rax
	ret

strings:
	leaq	word(%rip), %rdi
	movl	$3, %ecx
	xorl	%eax, %eax
	cld
	rep	stosb
	leaq	word(%rip), %rdi
	movl	$5, %ecx
	movb	$1, %al
	repne	scasb
	addl	%ecx, %ebx
	xorl	%ecx, %ecx
	rep	stosb
	ret

cold:
	cmpl	$1000000, %ebx
	ja	1f
	.section .text.unlikely, "ax", @progbits
1:	incl	%ebx
	jmp	back
	.previous
	jb	1b
back:	.subsection 1
5:	decl	%ebx
	ret
	.previous
	jmp	5b

wide:	finit
	fldpi
	fistpl	word(%rip)
	addl	word(%rip), %ebx
	movabsq	$0x1122334455667788, %rax
	movl	$back - cold - (back - cold), %eax
	ret

	.data
word:	.long	0, 0, 0, 0
	.section .note.GNU-stack, "", @progbits
