/* 2 n instructions and a few. */
long part(long n);

long part(long n)
{
    __asm__ volatile("1: decq %0; jnz 1b" : "+r"(n));
    return n;
}
