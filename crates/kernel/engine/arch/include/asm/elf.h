/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_FAIRLAB_ELF_H
#define _ASM_FAIRLAB_ELF_H

#define ELF_CLASS ELFCLASS64
#define ELF_DATA ELFDATA2LSB
#define ELF_ARCH EM_NONE
#define ELF_EXEC_PAGESIZE 4096
#define ELF_ET_DYN_BASE 0
#define ELF_HWCAP 0
#define ELF_PLATFORM NULL
#define elf_check_arch(header) 0

typedef unsigned long elf_greg_t, elf_gregset_t[1], elf_fpregset_t;

#endif
