// The list of `weft bench --tensor` in candle: lines of "name<TAB>seconds", the best of several.
// Threads: RAYON_NUM_THREADS. How to build it: docs/performance-tensor.md.
use candle_core::{DType, Device, Result, Tensor};
use std::time::Instant;

const SIDE: usize = 4096;

fn time(name: &str, filter: &str, mut call: impl FnMut() -> Result<Tensor>) {
    if !name.contains(filter) {
        return;
    }
    let start = Instant::now();
    if call().is_err() {
        return;
    }
    let times = if start.elapsed().as_secs_f64() < 1e-4 { 1000 } else { 1 };
    let (mut best, begin) = (f64::INFINITY, Instant::now());
    while begin.elapsed().as_secs_f64() < 0.15 || best.is_infinite() {
        let start = Instant::now();
        for _ in 0..times {
            std::hint::black_box(call().unwrap());
        }
        best = best.min(start.elapsed().as_secs_f64() / times as f64);
    }
    println!("{name}\t{best:e}");
}

fn main() -> Result<()> {
    let cpu = &Device::Cpu;
    let filter = std::env::args().nth(1).unwrap_or_default();
    let f = filter.as_str();
    let a = Tensor::rand(0.5f32, 1.5, (SIDE, SIDE), cpu)?;
    let b = Tensor::rand(0.5f32, 1.5, (SIDE, SIDE), cpu)?;
    let small = Tensor::ones(16, DType::F32, cpu)?;
    let cache = Tensor::zeros((SIDE, 9, 64), DType::F32, cpu)?;
    let row = Tensor::ones((1, 9, 64), DType::F32, cpu)?;
    let ids: Vec<u32> = (0..512).map(|i| i * 2654435 % SIDE as u32).collect();
    let ids = Tensor::new(ids, cpu)?;
    let vector = Tensor::ones((SIDE, 1), DType::F32, cpu)?;
    time("narrow of 16 elements", f, || small.narrow(0, 1, 8));
    time("add of 16 elements", f, || &small + &small);
    time("append [1,9,64] to a cache", f, || {
        cache.slice_set(&row, 0, 100)?;
        Ok(row.clone())
    });
    time("add", f, || &a + &b);
    time("mul", f, || &a * &b);
    time("div", f, || &a / &b);
    time("exp", f, || a.exp());
    time("log", f, || a.log());
    time("sin", f, || a.sin());
    time("tanh", f, || a.tanh());
    time("erf", f, || a.erf());
    time("silu", f, || a.silu());
    time("gelu_erf", f, || a.gelu_erf());
    time("gelu_tanh", f, || a.gelu());
    time("sqrt", f, || a.sqrt());
    time("relu", f, || a.relu());
    time("sigmoid", f, || candle_nn::ops::sigmoid(&a));
    time("sum all", f, || a.sum_all());
    time("sum last", f, || a.sum(1));
    time("sum first", f, || a.sum(0));
    time("sum of a transpose", f, || a.t()?.sum(1));
    let cube = a.reshape((SIDE / 64, 64, SIDE))?;
    time("sum middle", f, || cube.sum(1));
    let half = a.to_dtype(DType::F16)?;
    time("sum first of f16", f, || half.sum(0));
    time("var last", f, || a.var(1));
    time("var first", f, || a.var(0));
    time("argmax first", f, || a.argmax(0));
    time("max last", f, || a.max(1));
    time("max first", f, || a.max(0));
    time("argmax last", f, || a.argmax(1));
    time("softmax last", f, || candle_nn::ops::softmax_last_dim(&a));
    time("softmax first", f, || candle_nn::ops::softmax(&a, 0));
    let (ones, zeros) = (Tensor::ones(SIDE, DType::F32, cpu)?, Tensor::zeros(SIDE, DType::F32, cpu)?);
    time("layer_norm", f, || candle_nn::ops::layer_norm(&a, &ones, &zeros, 1e-5));
    time("rms_norm", f, || candle_nn::ops::rms_norm(&a, &ones, 1e-5));
    time("contiguous of a transpose", f, || a.t()?.contiguous());
    time("add of a transpose", f, || a.t()? + &b);
    time("cast to f16", f, || a.to_dtype(DType::F16));
    time("cast to bf16", f, || a.to_dtype(DType::BF16));
    time("index_select of 512 rows", f, || a.index_select(&ids, 0));
    for n in [256, 512, 1024, 2048] {
        let m = Tensor::rand(-1f32, 1., (n, n), cpu)?;
        time(&format!("matmul {n}"), f, || m.matmul(&m));
    }
    let (p, q) = (
        Tensor::rand(-1f32, 1., (9, 128, 64), cpu)?,
        Tensor::rand(-1f32, 1., (9, 64, 128), cpu)?,
    );
    time("matmul 9 of [128,64]x[64,128]", f, || p.matmul(&q));
    time("matmul 4096 by a vector", f, || a.matmul(&vector));
    Ok(())
}
