// Prints src/fields.generated.ts.

#include "page_fields.h"

#include <cstdio>

int main() { return std::fputs(mgtune::page_fields_source().c_str(), stdout) < 0 ? 1 : 0; }
