#!/bin/sh
# SPDX-License-Identifier: MIT
# A program in Rust names the digits: tgc compile --bindings=rust, make, rustc. It has canaries around every buffer. Prints TAP.
. "$(dirname "$0")/lib.sh"
needs "Rust" rustc

cat >main.rs <<'END'
mod digits;
use digits::*;

// memory for the model between canaries, aligned as it wants
#[repr(C, align(64))]
struct Memory([u8; 1 << 20]);
const FILL: u8 = 0xa5;

#[repr(C)]
struct Guarded<T> {
    before: [u8; 256],
    value: T,
    after: [u8; 256],
}
impl<T> Guarded<T> {
    fn new(value: T) -> Self { Guarded { before: [FILL; 256], value, after: [FILL; 256] } }
    fn check(&self) { assert!(self.before.iter().chain(&self.after).all(|&b| b == FILL), "a canary died") }
}

fn classify(model: &mut Model, path: &str) -> Result<(usize, f32), Box<dyn std::error::Error>> {
    let bytes = std::fs::read(path)?;
    let mut image = Guarded::new([0f32; 784]);
    for (to, &from) in image.value.iter_mut().zip(&bytes[bytes.len() - 784..]) { *to = from as f32 / 255.0; }
    let mut scores = Guarded::new([0f32; 10]);
    model.run(&Inputs { image: &image.value }, &mut Outputs { probabilities: &mut scores.value })?;
    image.check();
    scores.check();
    let best = (0..10).max_by(|&a, &b| scores.value[a].total_cmp(&scores.value[b])).unwrap();
    Ok((best, scores.value[best]))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let weights = Weights::read("net/digits_weights.bin")?;
    let mut wrong = std::fs::read("net/digits_weights.bin")?;
    wrong[1000] ^= 1;
    assert_eq!(Weights::new(&wrong).err().map(|e| e.0), Some(10));
    assert_eq!(Weights::new(&wrong[1..]).err(), Some(Error::WEIGHTS));
    let mut memory = Box::new(Memory([FILL; 1 << 20]));
    let n = memory_bytes();
    assert_eq!(Model::within(&mut memory.0[8..], &weights).err().map(|e| e.0), Some(2));
    {
        let mut model = Model::within(&mut memory.0[64..64 + n], &weights)?;
        assert_eq!(classify(&mut model, &std::env::args().nth(4).unwrap())?.0, 3);
    }
    assert!(memory.0[..64].iter().chain(&memory.0[64 + n..]).all(|&b| b == FILL), "a canary of the arena died");
    assert_eq!((INPUTS[0].name, INPUTS[0].shape), ("image", &[1i64, 1, 28, 28][..]));

    let mut model = Model::new(&weights)?;
    let begin = std::time::Instant::now();
    let mut right = 0;
    for (i, path) in std::env::args().skip(1).enumerate() {
        let (best, share) = classify(&mut model, &path)?;
        println!("{}: {} ({:.2} %)", path, best, 100.0 * share);
        right += (best == i) as usize;
    }
    println!("right: {} of 10 in {} us", right, begin.elapsed().as_micros());
    Ok(())
}
END
step "the bundle" "$TGC" compile "$digits/digits.onnx" -o net --name digits --bindings=rust
step "its library" make -s -C net build/libdigits.a CC="$CC"
cp net/digits.rs .
step "rustc" rustc --edition 2021 -O -D warnings -L net/build main.rs
./main "$digits"/samples/[0-9].pgm >said 2>&1
step "the ten samples" grep -q 'right: 10 of 10' said
python3 "$root/tests/bindings/models.py" .
step "the states of a model" sh -e -c '
  "'"$TGC"'" compile states.tg -o m --state h=h1 --embed-weights --bindings=rust
  make -s -C m build/libnet.a
  cat >states.rs <<END
#[path = "m/net.rs"]
mod net;
fn main() -> Result<(), net::Error> {
    let mut m = net::Model::new()?;
    let (x, mut y, mut h, mut saved) = ([1f32; 40], [0f32; 40], [0f32; 40], [0u8; net::Model::STATE_BYTES]);
    let mut run = |m: &mut net::Model| m.run(&net::Inputs { x: &x }, &mut net::Outputs { y: &mut y }).map(|_| y[39]);
    assert_eq!((run(&mut m)?, run(&mut m)?), (2.0, 3.0));
    m.get_h(&mut h)?;
    m.save(&mut saved)?;
    assert_eq!((h[0], run(&mut m)?), (1.5, 3.5));
    m.put_h(&[8.0; 40])?;
    assert_eq!(run(&mut m)?, 10.0);
    m.load(&saved)?;
    assert_eq!(run(&mut m)?, 3.5);
    m.reset()?;
    assert_eq!(run(&mut m)?, 2.0);
    assert_eq!(m.load(&[255; net::Model::STATE_BYTES]).err().map(|e| e.0), Some(8));
    Ok(())
}
END
  rustc --edition 2021 -D warnings -L m/build states.rs
  ./states'
step "ranges of sizes" sh -e -c '
  "'"$TGC"'" compile ranges.tg -o r --dim b=1:3 --dim n=2:8:2 --embed-weights --bindings=rust
  make -s -C r build/libnet.a
  cat >ranges.rs <<END
#[path = "r/net.rs"]
mod net;
fn main() -> Result<(), net::Error> {
    let mut m = net::Model::new()?;
    assert_eq!(m.sizes()?, net::Sizes { b: 3, n: 8 });
    let (x, mut y, mut s, mut dims) = ([1f32; 24], [0f32; 24], [0f32; 3], [0i64; 2]);
    for &(b, n) in &[(1, 2), (2, 6), (3, 8)] {
        m.set_sizes(&net::Sizes { b: b as i64, n: n as i64 })?;
        m.output_dims(0, &mut dims)?;
        assert_eq!(dims, [b as i64, n as i64]);
        m.run(&net::Inputs { x: &x[..b * n] }, &mut net::Outputs { y: &mut y[..b * n], s: &mut s[..b] })?;
        assert_eq!((y[b * n - 1], s[b - 1]), (2.0, n as f32));
        let wrong = m.run(&net::Inputs { x: &x[..b * n - 1] }, &mut net::Outputs { y: &mut y[..b * n], s: &mut s[..b] });
        assert_eq!(wrong.err(), Some(net::Error::ARGUMENT));
    }
    let bad = net::Sizes { b: 1, n: 3 };
    assert_eq!(m.set_sizes(&bad).err(), Some(net::Error::SIZE));
    assert_eq!(net::Model::bad_size(&bad).map(|r| (r.name, r.step)), Some(("n", 2)));
    Ok(())
}
END
  rustc --edition 2021 -D warnings -L r/build ranges.rs
  ./ranges'
step "names and types of every kind" sh -e -c '
  for m in mixed inputless; do
    "'"$TGC"'" compile $m.onnx -o $m --name $m --embed-weights --bindings=rust
    make -s -C $m build/lib$m.a
  done
  cat >kinds.rs <<END
#[path = "mixed/mixed.rs"]
mod mixed;
#[path = "inputless/inputless.rs"]
mod inputless;
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut m = mixed::Model::new()?;
    let (sum, past) = (&mut [0f32; 30], [1f32; 30]);
    let (not, more, minus) = (&mut [0u8; 7], &mut [0i64; 3], &mut [0i8; 1]);
    m.run(&mixed::Inputs { past_0_key_0: &past, quote____________s_: &[1, 0, 1, 0, 1, 0, 1], input_2: &[1, 2, 3], scalar: &[5] },
          &mut mixed::Outputs { sum: sum, output_1: not, more: more, minus: minus })?;
    assert_eq!((sum[29], *not, *more, *minus), (30.0, [0, 1, 0, 1, 0, 1, 0], [2, 2 + (1 << 40), -4], [-5]));
    assert_eq!(mixed::INPUTS[2].name, "日本");
    let mut m = inputless::Model::new()?;
    let mut out = [0f32; 3];
    m.run(&inputless::Inputs { none: Default::default() }, &mut inputless::Outputs { match_: &mut out })?;
    assert_eq!(out, [1.0, 2.0, 3.0]);
    Ok(())
}
END
  rustc --edition 2021 -D warnings -L mixed/build -L inputless/build kinds.rs
  ./kinds'
[ "$bad" = 0 ] || sed 's/^/# /' said
number "Rust: $(tail -1 said)"
finish
