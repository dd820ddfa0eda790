/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_FAIRLAB_PAGE_H
#define _ASM_FAIRLAB_PAGE_H

/* Memory is that of the process: addresses need no conversion, and nothing is paged. */
#if __has_include(<vdso/page.h>)
#include <vdso/page.h>
#else
#define PAGE_SHIFT 12
#define PAGE_SIZE (1UL << PAGE_SHIFT)
#define PAGE_MASK (~(PAGE_SIZE - 1))
#endif
#define PAGE_OFFSET 0UL
#define ARCH_PFN_OFFSET 0UL

#ifndef __ASSEMBLY__
typedef struct { unsigned long value; } pte_t, pgd_t, pgprot_t;
typedef struct page *pgtable_t;

#define pgd_val(x) ((x).value)
#define __pgd(x) ((pgd_t) { (x) })
#define __pgprot(x) ((pgprot_t) { (x) })
#define __va(x) ((void *)(unsigned long)(x))
#define __pa(x) ((unsigned long)(x))
#define virt_to_page(x) pfn_to_page(__pa(x) >> PAGE_SHIFT)
#define page_to_virt(x) __va(page_to_pfn(x) << PAGE_SHIFT)

void clear_page(void *page);
void copy_page(void *to, void *from);
void clear_user_page(void *page, unsigned long address, pgtable_t pg);
void copy_user_page(void *to, void *from, unsigned long address, pgtable_t pg);
#define clear_user_page clear_user_page
#endif

/* Newer trees have no memory map for nodes unless it is a sparse one. It is never read. */
#if !defined(CONFIG_FLATMEM) && !defined(CONFIG_SPARSEMEM)
#define __pfn_to_page(x) ((struct page *)NULL + (x))
#define __page_to_pfn(x) ((unsigned long)((x) - (struct page *)NULL))
#endif

#include <asm-generic/memory_model.h>
#ifndef page_to_phys
#define page_to_phys(x) ((phys_addr_t)page_to_pfn(x) << PAGE_SHIFT)
#endif
#include <asm-generic/getorder.h>

#endif
