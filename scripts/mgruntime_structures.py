"""The structures of mgruntime.h for ctypes. The scripts in this folder pass them to libmgruntime."""

import ctypes


class Assignment(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class Range(ctypes.Structure):
    _fields_ = [("dim", ctypes.c_char_p), ("low", ctypes.c_int64), ("high", ctypes.c_int64)]


class OpenOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("device", ctypes.c_char_p), ("database", ctypes.c_char_p),
                ("family_folders", ctypes.c_void_p), ("family_folder_count", ctypes.c_size_t)]


class PlanOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("operator_name", ctypes.c_char_p),
                ("assignments", ctypes.POINTER(Assignment)), ("assignment_count", ctypes.c_size_t),
                ("ranges", ctypes.POINTER(Range)), ("range_count", ctypes.c_size_t)]
