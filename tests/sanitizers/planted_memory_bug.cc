// What AddressSanitizer, LeakSanitizer and UBSan are there for, one at a time.

#include <climits>
#include <string_view>

namespace {

int* volatile pointer;

int UseAfterFree() {
  pointer = new int(1);
  delete pointer;
  return *pointer;
}

int Leak() {
  pointer = new int(1);
  pointer = nullptr;
  return 0;
}

int Overflow(int argc) {
  volatile int most = INT_MAX;  // or the compiler decides before UBSan sees it
  return most + argc;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view bug = argc > 1 ? argv[1] : "";
  if (bug == "use-after-free") return UseAfterFree();
  if (bug == "leak") return Leak();
  return Overflow(argc);
}
