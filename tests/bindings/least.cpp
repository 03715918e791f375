// least.cpp: a program that only includes the header
#include "net.hpp"

int main() { return net::Model::arena_bytes == 0; }
