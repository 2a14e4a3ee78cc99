// Landing pads, comdat sections, tables of virtual functions, constructors before main.
#include <stdexcept>
#include <vector>

namespace {
volatile int sink;

struct Shape {
    virtual ~Shape() = default;
    virtual int area() const = 0;
};
struct Square : Shape {
    int a;
    explicit Square(int x) : a(x) {}
    int area() const override { return a * a; }
};
struct Bad : Shape {
    int area() const override { throw std::runtime_error("no area"); }
};
struct Early {
    Early() { sink = 3; }
    ~Early() { sink = 4; }
} early;
} // namespace

template <typename T> T twice(T x)
{
    if (x > 5)
        throw x;
    return x + x;
}

static int guarded(int i)
{
    struct Undo {
        int &n;
        ~Undo() { n++; }
    } undo{const_cast<int &>(sink)};
    try {
        return twice(i) + static_cast<int>(twice(static_cast<double>(i)));
    } catch (int x) {
        return -x;
    } catch (...) {
        throw;
    }
}

int main()
{
    std::vector<int> v;
    Square s(3);
    Bad b;
    const Shape *shapes[] = {&s, &b, &s};
    int sum = 0;

    for (int i = 3; i < 7; i++)
        v.push_back(guarded(i));
    for (int x : v)
        sum = sum * 3 + x;
    for (const Shape *p : shapes) {
        try {
            sum += p->area();
        } catch (const std::exception &) {
            sum++;
        }
    }
    return sum & 63;
}
