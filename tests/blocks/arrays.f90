! Array copies, which gfortran makes of rep instructions, loops, a select case.
program arrays
  implicit none
  integer :: a(20, 20), b(20, 20), i, j, n
  real(8) :: x(50), y(50)
  n = 0
  do j = 1, 20
    do i = 1, 20
      a(i, j) = mod(i * 7 + j * 3, 11)
    end do
  end do
  b = a
  b(2:19, 2:19) = a(1:18, 2:19) + a(3:20, 2:19) - a(2:19, 1:18)
  x = 1.5d0
  y = x * 2 + 1
  do i = 1, 20
    select case (mod(b(i, 5), 4))
    case (0); n = n + 1
    case (1); n = n + 3
    case (2); n = n - 1
    case default; n = n + int(y(i))
    end select
  end do
  if (n < 0) n = -n
  call exit(mod(n, 64))
end program
