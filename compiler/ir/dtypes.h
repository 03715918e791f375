/* SPDX-License-Identifier: MIT */
/* dtypes.h: one row per element type. Columns: the id, such as F32 for DT_F32; the number of bits of an element in memory; the
 * class; the number in TensorProto.DataType of ONNX; the C type of an element in memory; the name in texts and dumps. Classes:
 * b bool, i signed integer, u unsigned integer, f float. */
/* clang-format off */
/*    id      bits class onnx  C type      name */
DTYPE(BOOL,   8,  'b',  9,  "uint8_t",  "bool")
DTYPE(I8,     8,  'i',  3,  "int8_t",   "i8")
DTYPE(U8,     8,  'u',  2,  "uint8_t",  "u8")
DTYPE(I16,    16, 'i',  5,  "int16_t",  "i16")
DTYPE(U16,    16, 'u',  4,  "uint16_t", "u16")
DTYPE(I32,    32, 'i',  6,  "int32_t",  "i32")
DTYPE(U32,    32, 'u', 12,  "uint32_t", "u32")
DTYPE(I64,    64, 'i',  7,  "int64_t",  "i64")
DTYPE(U64,    64, 'u', 13,  "uint64_t", "u64")
DTYPE(F16,    16, 'f', 10,  "uint16_t", "f16")
DTYPE(BF16,   16, 'f', 16,  "uint16_t", "bf16")
DTYPE(F32,    32, 'f',  1,  "float",    "f32")
DTYPE(F64,    64, 'f', 11,  "double",   "f64")
/* clang-format on */
