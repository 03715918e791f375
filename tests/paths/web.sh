#!/bin/sh
# SPDX-License-Identifier: MIT
# A module of WebAssembly names the digits in Node.js and on the page of examples/digits in headless Chromium. Prints TAP.
. "$(dirname "$0")/lib.sh"
needs "WebAssembly" wasm-ld llvm-config-19 node

cat >digits.mjs <<'END'
// The module with canaries around its buffers: memory between and behind them, which no run may change
import fs from 'node:fs';
const [folder, data, ...samples] = process.argv.slice(2);
const { Model, inputs, outputs } = await import(`${folder}/digits.mjs`);
const model = await Model.load(), { buffer } = model.inputs.image;
const all = new Uint8Array(buffer), spots = [];
for (const view of [...Object.values(model.inputs), ...Object.values(model.outputs)])
  for (let at = view.byteOffset + view.byteLength; at % 64; at++) spots.push(at);
for (let at = all.length - 1; at >= all.length - 4096; at--) spots.push(at);
for (const at of spots) all[at] = 0xa5;
const check = (what, is) => { if (!is) throw new Error(what); };
const refused = (f, text) => {
  let said = 'nothing';
  try { f(); } catch (e) { said = e.message; }
  check(`'${said}', expected '${text}'`, said === text);
};
const read = path => Float32Array.from(fs.readFileSync(path).subarray(-784), v => v / 255);
const begin = performance.now();
const answers = samples.map(path => {
  const image = read(path), { probabilities } = model.run({ image });
  model.inputs.image.set(image);
  check('the two ways differ', model.run().probabilities.every((v, i) => v === probabilities[i]));
  return probabilities.indexOf(Math.max(...probabilities));
});
const ms = performance.now() - begin;
const reference = fs.readFileSync(data), image = new Float32Array(reference.buffer.slice(reference.byteOffset, reference.byteOffset + 3136));
const want = new Float32Array(reference.buffer.slice(reference.byteOffset + 3136, reference.byteOffset + 3176));
const got = model.run({ image }).probabilities;
check('the reference data', got.every((v, i) => Math.abs(v - want[i]) <= 1e-7 + 1e-3 * Math.abs(want[i])));
refused(() => model.run({}), "input 'image' is missing");
refused(() => model.run({ image: image.slice(1) }), "input 'image': 783 elements, expected 784 for f32[1,1,28,28]");
refused(() => model.run({ image: [...image] }), "input 'image': Array, expected Float32Array for f32[1,1,28,28]");
refused(() => model.run({ picture: image }), "no input is named 'picture'; there are image");
check('a canary died', spots.every(at => all[at] === 0xa5) && spots.length > 4096);
check('tables', inputs[0].shape.join() === '1,1,28,28' && outputs[0].name === 'probabilities');
model.close();
refused(() => model.run(), 'the model is closed');
check(`answers ${answers}`, answers.join('') === '0123456789');
console.log(`${answers.length} of 10 right, ${(1000 * ms / 20).toFixed(0)} us a run`);
END
cat >states.mjs <<'END'
const { Model } = await import(`${process.argv[2]}/net.mjs`);
const m = await Model.load(), x = new Float32Array(40).fill(1), run = () => m.run({ x }).y[39], seen = [run(), run()];
seen.push(m.getState('h')[0]);
const saved = m.save();
seen.push(run());
m.putState('h', x.map(v => 8 * v));
seen.push(run());
m.load(saved);
seen.push(run());
m.reset();
seen.push(run());
let said;
try { m.load(saved.map(() => 255)); } catch (e) { said = e.status; }
if (seen.join() !== '2,3,1.5,3.5,10,3.5,2' || said !== 8) throw new Error(`${seen} ${said}`);
END
cat >functions.mjs <<'END'
// functions that the module imports: against Math, and erf against a table (Abramowitz and Stegun, 7.1)
const { Model, inputs, outputs } = await import(`${process.argv[2]}/net.mjs`);
const m = await Model.load(), x = Float64Array.of(0, 0.5, 1, 2, 3), out = m.run({ x });
const erf = [0, 0.5204998778130465, 0.8427007929497149, 0.9953222650189527, 0.9999779095030014];
const near = (a, b) => Math.abs(a - b) <= 1e-14 * Math.max(1, Math.abs(b));
x.forEach((v, i) => {
  const want = [Math.tan(v), erf[i], Math.pow(2, v), Math.sinh(v)], got = outputs.map(o => out[o.field][i]);
  if (!got.every((g, k) => near(g, want[k]))) throw new Error(`${v}: ${got}, expected ${want}`);
});
END
for how in "" --embed-weights; do
  step "the bundle $how" "$TGC" compile "$digits/digits.onnx" -o "net$how" --name digits --emit=wasm --self-test $how
  step "Node.js $how" node digits.mjs "$work/net$how" "net$how/digits_check.bin" "$digits"/samples/[0-9].pgm
  tail -1 step.log >said
done
step "without vector instructions" "$TGC" compile "$digits/digits.onnx" -o scalar --name digits --emit=wasm --isa=wasm32 --self-test
step "Node.js, without vector instructions" node digits.mjs "$work/scalar" scalar/digits_check.bin "$digits"/samples/[0-9].pgm
python3 "$root/tests/bindings/models.py" .
cat >kinds.mjs <<'END'
// values of several types, a scalar, names of every kind; a model without inputs
const mixed = await import(`${process.argv[2]}/mixed/net.mjs`), { Model } = await import(`${process.argv[2]}/inputless/net.mjs`);
const m = await mixed.Model.load();
const out = m.run({ 'past.0/key:0': new Float32Array(30).fill(1), [mixed.inputs[1].name]: Uint8Array.of(1, 0, 1, 0, 1, 0, 1),
  日本: BigInt64Array.of(1n, 2n, 3n), scalar: Int8Array.of(5) });
const said = [out.sum[29], out.output_1, out.more, out.minus, (await Model.load()).run({}).match].join();
if (said !== `30,0,1,0,1,0,1,0,2,${2n + (1n << 40n)},-4,-5,1,2,3`) throw new Error(said);
if (mixed.inputs.map(v => v.name).join('|') !== 'past.0/key:0|quote" \\ */ ??/ %s\n|日本|scalar') throw new Error('names');
END
step "names and types of every kind" sh -ec "for m in mixed inputless; do '$TGC' compile \$m.onnx -o \$m --emit=wasm; done
  node kinds.mjs '$work'"
step "states" sh -c "'$TGC' compile states.tg -o states --state h=h1 --emit=wasm && node states.mjs '$work/states'"
cat >ranges.mjs <<'END'
const { Model, sizes } = await import(`${process.argv[2]}/net.mjs`);
const m = await Model.load(), check = (what, is) => { if (!is) throw new Error(what); };
check('the greatest sizes', m.sizes.b === 3 && m.sizes.n === 8 && m.inputs.x.length === 24);
for (const [b, n] of [[1, 2], [2, 6], [3, 8]]) {
  m.setSizes({ b, n });
  const { y, s } = m.run({ x: new Float32Array(b * n).fill(1) });
  check(`${b} ${n}`, y.length === b * n && y.every(v => v === 2) && s.length === b && s[b - 1] === n && m.shape('y').join() === `${b},${n}`);
}
m.setSizes({ n: 4 });
let said = [];
for (const f of [() => m.setSizes({ n: 5 }), () => m.setSizes({ m: 5 }), () => m.run({ x: new Float32Array(24) })])
  try { f(); } catch (e) { said.push(`${e.status ?? ''}${e.message}`); }
check(said.join('|'), said.join('|') === "17size 'n': 5, expected 2 to 8 in steps of 2|no size is named 'm'; there are b, n|" +
  "input 'x': 24 elements, expected 12 for f32[3,4]" && sizes[1].step === 2 && m.sizes.n === 4);
END
step "ranges of sizes" sh -c "'$TGC' compile ranges.tg -o ranges --dim b=1:3 --dim n=2:8:2 --emit=wasm && node ranges.mjs '$work/ranges'"
printf 'x = input f64[5]\nt = tan x\noutput t\ne = erf x\noutput e\np = exp2 x\noutput p\ns = sinh x\noutput s\n' >f.tg
step "functions of libm" sh -c "'$TGC' compile f.tg -o functions --emit=wasm && node functions.mjs '$work/functions'"
number "Node.js: $(cat said); $(wc -c <net--embed-weights/digits.wasm) bytes"

if ! command -v chromium >/dev/null; then
  steps=$((steps + 1))
  echo "ok $steps - the page in Chromium # SKIP no chromium"
  finish
fi
mkdir site && cp -r "$digits/page.html" "$digits/samples" site && cp -r net site/net
answers='[...document.querySelectorAll("figure")].map(f => f.dataset.digit + f.dataset.answer).join(" ")'
# a vertical stroke, drawn on the canvas as a mouse would; then the digit with the longest bar
stroke='(() => { const c = document.getElementById("draw"), { left, top } = c.getBoundingClientRect();
  for (let y = 50; y < 230; y += 4)
    c.dispatchEvent(new PointerEvent("pointermove", { buttons: 1, clientX: left + 140, clientY: top + y }));
  const bars = [...document.querySelectorAll("meter")].map(m => m.value);
  return bars.indexOf(Math.max(...bars)); })()'
python3 "$root/tests/paths/browse.py" site page.html 'document.getElementById("state").textContent.includes("takes f32")' \
  "$answers" "$stroke" 'document.getElementById("time").textContent' >said
step "the page in Chromium is ready, and its console is empty" sh -c '[ '$?' = 0 ] && ! grep console: said'
step "it names the ten samples" sh -c 'cat said; [ "$(sed -n 1p said)" = "\"00 11 22 33 44 55 66 77 88 99\"" ]'
step "it names what is drawn" sh -c 'cat said; [ "$(sed -n 2p said)" = 1 ]'
number "Chromium: a run takes $(sed -n 3p said)"
finish
