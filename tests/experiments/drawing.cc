#include "drawing.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "report.h"

namespace rocksync {

void Draw(const DrawingPaths& paths, const std::string& script,
          const std::string& name, Report* report) {
  namespace fs = std::filesystem;
  const fs::path out = fs::path(paths.pictures) / (name + ".png");
  std::error_code ignored;
  fs::remove(out, ignored);
  const std::string command = "gnuplot -e \"data='" + paths.data + "'; name='" +
                              name + "'; out='" + out.string() + "'\" '" +
                              ROCKSYNC_PLOTS + "/" + script + ".gp'";
  const int status = std::system(command.c_str());
  const auto size = fs::file_size(out, ignored);
  report->Compare(
      "gnuplot drew " + name + ", kB", nullptr,
      status == 0 && !ignored ? static_cast<double>(size) / 1000 : 0, {5, 300});
}

}  // namespace rocksync
