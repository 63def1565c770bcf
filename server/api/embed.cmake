# A file as a C array: cmake -DIN=file.json -DOUT=file.c -P embed.cmake
file(READ "${IN}" hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)"
       "\\1\n" bytes "${bytes}")
file(WRITE "${OUT}" "#include \"server/api/api_openapi.h\"\n
const unsigned char api_openapi_json[] = {\n${bytes}};
const size_t api_openapi_json_len = sizeof(api_openapi_json);\n")
