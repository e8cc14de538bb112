// Of this only the headers that it is compiled with count
// (rocksync_precompile).
int main() { return 0; }
