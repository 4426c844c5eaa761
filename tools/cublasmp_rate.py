#!/usr/bin/env python3
"""cublasmp_rate.py M N K [--grid PxQ] [--block B] [--repeat R]: one float32 product on the GPUs of a machine by
NVIDIA's cuBLASMp, to measure examples/summa.c beside it. The matrices are column-major, and distributed block-cyclically
over a grid of P x Q processes [1x2] in squares of B rows and columns [4096]. Each process has a GPU. Prints a head and a
line of CSV, as summa does. The time is that of the slowest process, the least of R products [3] after the first. error is
the largest of 16 elements of each process over the bound of 8 sqrt(K) + 2 roundings. The exit status is 0, or 2 with a
line on standard error; --timeout S [300] limits the time to the next answer of a process.

Needs NumPy, and from PyPI nvidia-cublasmp-cu13 0.5 to 0.7, nvidia-nccl-cu13, nvidia-nvshmem-cu13 and nvidia-cublas, or
these libraries in LD_LIBRARY_PATH. PyTorch brings all but the first."""
import argparse
import ctypes
import functools
import glob
import multiprocessing
import os
import queue
import sys
import time

import numpy

SLAB = 1 << 24  # random numbers that fill a part of a matrix again and again
CUDA_R_32F, CUBLAS_COMPUTE_32F, OP_N, ROW_MAJOR_GRID, HOST_TO_DEVICE, DEVICE_TO_HOST = 0, 68, 0, 1, 1, 2
A, B, C = 0, 1, 2
NAMES = {"cublas": "cu13", "cublasLt": "cu13", "cudart": "cu13"}  # packages with another name than their library


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


def library(name, version):
    """A library of LD_LIBRARY_PATH, or of a package of NVIDIA beside NumPy's."""
    file = f"lib{name}.so.{version}"
    folder = f"nvidia/{NAMES.get(name, name.split('_')[0])}"
    found = [path for root in sys.path for path in sorted(glob.glob(f"{root}/{folder}/**/lib/{file}", recursive=True))]
    return ctypes.CDLL((found + [file])[0], mode=ctypes.RTLD_GLOBAL)


def call(function, *arguments):
    status = function(*arguments)
    if status != 0:
        raise RuntimeError(f"{function.__name__}: status {status}")


@functools.cache
def numbers(rank, matrix):
    """What the part of a process of a matrix repeats."""
    return numpy.random.default_rng([rank, matrix]).random(SLAB, dtype=numpy.float32) * 2 - 1


class Layout:
    """The block-cyclic distribution of a matrix."""

    def __init__(self, shape, grid, block):
        self.shape, self.grid, self.block = shape, grid, block

    def length(self, axis, index):
        size, parts, block = self.shape[axis], self.grid[axis], self.block
        whole, rest = divmod(size, block)
        return whole // parts * block + (block if index < whole % parts else rest if index == whole % parts else 0)

    def elements(self, matrix, i, j):
        """The elements (i, j), arrays of global indices, as numbers() filled them."""
        owner_row, owner_col = i // self.block % self.grid[0], j // self.block % self.grid[1]
        row = i // (self.block * self.grid[0]) * self.block + i % self.block
        col = j // (self.block * self.grid[1]) * self.block + j % self.block
        result = numpy.empty(len(i))
        for rank in range(self.grid[0] * self.grid[1]):
            here = owner_row * self.grid[1] + owner_col == rank
            at = row[here] + col[here] * self.length(0, rank // self.grid[1])
            result[here] = numbers(rank, matrix)[at % SLAB]
        return result


class Process:
    """What a process has: its libraries, its GPU, and its parts of the matrices."""

    def __init__(self, options, rank, pipes):
        self.options, self.rank = options, rank
        self.place = (rank // options.grid[1], rank % options.grid[1])
        self.cuda, nccl = library("cudart", 13), library("nccl", 2)
        for name, version in (("cublasLt", 13), ("cublas", 13), ("nvshmem_host", 3)):
            library(name, version)
        self.mp = library("cublasmp", 0)
        self.stream, self.handle, self.grid, self.comm = (ctypes.c_void_p() for _ in range(4))
        call(self.cuda.cudaSetDevice, rank)
        call(self.cuda.cudaStreamCreate, ctypes.byref(self.stream))
        name = UniqueId()
        if rank == 0:
            call(nccl.ncclGetUniqueId, ctypes.byref(name))
            for pipe in pipes:
                pipe.send(bytes(name))
        else:
            name = UniqueId.from_buffer_copy(pipes[rank - 1].recv())
        ranks = options.grid[0] * options.grid[1]
        call(nccl.ncclCommInitRank, ctypes.byref(self.comm), ranks, name, rank)
        call(self.mp.cublasMpCreate, ctypes.byref(self.handle), self.stream)
        call(self.mp.cublasMpGridCreate, *(ctypes.c_int64(x) for x in options.grid), ROW_MAJOR_GRID, self.comm,
             ctypes.byref(self.grid))
        m, n, k = options.size
        self.parts = [self.part(matrix, shape) for matrix, shape in ((A, (m, k)), (B, (k, n)), (C, (m, n)))]

    def part(self, matrix, shape):
        """Allocates the process's part of a matrix and fills it."""
        layout = Layout(shape, self.options.grid, self.options.block)
        rows, cols = (layout.length(axis, self.place[axis]) for axis in (0, 1))
        memory, description = ctypes.c_void_p(), ctypes.c_void_p()
        call(self.cuda.cudaMalloc, ctypes.byref(memory), ctypes.c_size_t(4 * max(1, rows * cols)))
        values = numbers(self.rank, matrix)
        for begin in range(0, rows * cols if matrix != C else 0, SLAB):
            call(self.cuda.cudaMemcpy, ctypes.c_void_p(memory.value + 4 * begin), values.ctypes.data_as(ctypes.c_void_p),
                 ctypes.c_size_t(4 * min(SLAB, rows * cols - begin)), HOST_TO_DEVICE)
        sizes = (*shape, layout.block, layout.block, 0, 0, max(1, rows))
        call(self.mp.cublasMpMatrixDescriptorCreate, *(ctypes.c_int64(x) for x in sizes), CUDA_R_32F, self.grid,
             ctypes.byref(description))
        return layout, memory, description, rows, cols

    def product(self, barrier):
        """Returns the seconds of each product but the first."""
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        operands = [OP_N, OP_N, *(ctypes.c_int64(x) for x in self.options.size), ctypes.byref(one)]
        for matrix in (A, B, C):
            _, memory, description, _, _ = self.parts[matrix]
            operands += [ctypes.byref(zero)] if matrix == C else []
            operands += [memory, ctypes.c_int64(1), ctypes.c_int64(1), description]
        bytes_on_device, bytes_on_host = ctypes.c_size_t(), ctypes.c_size_t()
        call(self.mp.cublasMpGemm_bufferSize, self.handle, *operands, CUBLAS_COMPUTE_32F, ctypes.byref(bytes_on_device),
             ctypes.byref(bytes_on_host))
        workspace = ctypes.c_void_p()
        call(self.cuda.cudaMalloc, ctypes.byref(workspace), ctypes.c_size_t(max(1, bytes_on_device.value)))
        host = ctypes.create_string_buffer(max(1, bytes_on_host.value))
        seconds = []
        for _ in range(1 + self.options.repeat):
            call(self.cuda.cudaStreamSynchronize, self.stream)
            barrier.wait()
            start = time.perf_counter()
            call(self.mp.cublasMpGemm, self.handle, *operands, CUBLAS_COMPUTE_32F, workspace, bytes_on_device, host,
                 bytes_on_host)
            call(self.cuda.cudaStreamSynchronize, self.stream)
            seconds.append(time.perf_counter() - start)
        return seconds[1:]

    def error(self):
        """The largest error of 4 x 4 elements of the process's part of C over its bound."""
        layout, memory, _, rows, cols = self.parts[C]
        k = self.options.size[2]
        worst, p = 0.0, numpy.arange(k)
        for row in numpy.linspace(0, rows - 1, min(rows, 4)).astype(int):
            i = (row // layout.block * layout.grid[0] + self.place[0]) * layout.block + row % layout.block
            a = self.parts[A][0].elements(A, numpy.full(k, i), p)
            for col in numpy.linspace(0, cols - 1, min(cols, 4)).astype(int):
                j = (col // layout.block * layout.grid[1] + self.place[1]) * layout.block + col % layout.block
                terms = a * self.parts[B][0].elements(B, p, numpy.full(k, j))
                c = ctypes.c_float()
                call(self.cuda.cudaMemcpy, ctypes.byref(c), ctypes.c_void_p(memory.value + 4 * int(row + col * rows)),
                     ctypes.c_size_t(4), DEVICE_TO_HOST)
                ratio = abs(c.value - terms.sum()) / ((min(k, 8 * k**0.5) + 2) * 2.0**-24 * abs(terms).sum())
                worst = worst if ratio <= worst else ratio if ratio == ratio else float("inf")
        return worst


def run(options, rank, pipes, barrier, results):
    try:
        process = Process(options, rank, pipes)
        results.put((process.product(barrier), process.error()))
    except Exception as error:
        print(f"cublasmp_rate.py: process {rank}: {error}", file=sys.stderr, flush=True)
        results.put(None)
    results.close()
    results.join_thread()
    barrier.wait()
    os._exit(0)  # NVSHMEM would wait for the other processes


def whole(text):
    if not 0 < int(text) < 2**31:
        raise ValueError
    return int(text)


def grid(text):
    rows, cols = (whole(part) for part in text.split("x"))
    return rows, cols


def main():
    parser = argparse.ArgumentParser(usage="cublasmp_rate.py M N K [option ...]", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", type=whole, nargs=3)
    parser.add_argument("--grid", type=grid, default=(1, 2))
    parser.add_argument("--block", type=whole, default=4096)
    parser.add_argument("--repeat", type=whole, default=3)
    parser.add_argument("--timeout", type=whole, default=300)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ranks = options.grid[0] * options.grid[1]
    barrier, results = context.Barrier(ranks), context.Queue()
    ends = [context.Pipe() for _ in range(ranks - 1)]
    processes = [context.Process(target=run, args=(options, rank, [end[rank > 0] for end in ends], barrier, results))
                 for rank in range(ranks)]
    for process in processes:
        process.start()
    answers = []
    while len(answers) < ranks:
        try:
            answers.append(results.get(timeout=options.timeout))
        except queue.Empty:
            print(f"cublasmp_rate.py: no process answered for {options.timeout} s", file=sys.stderr)
            answers.append(None)
        if answers[-1] is None:  # the other processes wait for one that has failed
            for process in processes:
                process.kill()
            sys.exit(2)
    for process in processes:
        process.join()
    seconds = min(max(times) for times in zip(*(times for times, _ in answers)))
    m, n, k = options.size
    print("transport,grid,m,n,k,mode,panel,ms,tflops,error")
    print(f"cublasmp,{options.grid[0]}x{options.grid[1]},{m},{n},{k},strict,{options.block},{1e3 * seconds:.6g},"
          f"{2e-12 * m * n * k / seconds:.6g},{max(error for _, error in answers):.3g}")


if __name__ == "__main__":
    main()
