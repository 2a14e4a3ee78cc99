# The other syntax, with and without prefixes.
	.intel_syntax noprefix
	.text
	.globl	main
main:	xor	eax, eax
	mov	ecx, 9
1:	add	eax, dword ptr cell[rip]
	lock
	inc	dword ptr cell[rip]
	test	ecx, 1
	jz	2f
	sbb	eax, 3
2:	jo	3f
	adc	eax, 0
3:	loop	1b
	.intel_syntax prefix
	cmp	%eax, 5
	setg	%cl
	movzx	%ecx, %cl
	.att_syntax noprefix
	leal	(rax,rcx,2), eax
	jmp	4f
	.p2align 4
4:	.att_syntax prefix
	andl	$63, %eax
	ret
	.data
cell:	.long	3
	.section .note.GNU-stack, "", @progbits
