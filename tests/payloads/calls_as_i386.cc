// int 0x80: number 20 is getpid(2) there, and writev(2) here.
int main() {
  int result = 20;
  asm volatile("int $0x80" : "+a"(result) : : "memory");
  return result & 0xff;
}
