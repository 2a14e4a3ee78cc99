	.text
	.globl	by_hand
	.type	by_hand, @function
by_hand:
	movl	$500, %eax
1:	decl	%eax
	jnz	1b
	ret
	.size	by_hand, .-by_hand
	.section .note.GNU-stack,"",@progbits
