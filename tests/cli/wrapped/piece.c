/* 2 n instructions and a few. */
long piece(long n);

long piece(long n)
{
    __asm__ volatile("1: decq %0; jnz 1b" : "+r"(n));
    return n;
}
