// node scripts/ci-summary.js FOLDER
//
// Adds up what the suites left in FOLDER: <suite>.json from the reporter, <suite>.code with the
// exit code of the step. Prints what failed or was skipped once more, for readers of the end of a
// long output. The last line is `N passed, N failed`, with `, N skipped` when there are any; with
// CI=true a skipped test counts as failed. Exits with 1 when anything failed.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const folder = process.argv[2] ?? '.'
const isCi = process.env.CI === 'true'
const maxErrorLines = 30
let passed = 0
let failed = 0
let skipped = 0

for (const file of readdirSync(folder).toSorted()) {
  if (file.endsWith('.code')) addStep(basename(file, '.code'))
}
if (isCi) failed += skipped
const tail = isCi || skipped === 0 ? '' : `, ${skipped} skipped`
console.log(`${passed} passed, ${failed} failed${tail}`)
process.exitCode = failed === 0 ? 0 : 1

function addStep(name) {
  const code = Number(readFileSync(join(folder, `${name}.code`), 'utf8'))
  const report = join(folder, `${name}.json`)
  const summary = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : null
  for (const { title, error } of summary?.failures ?? []) {
    const lines = error.split('\n').slice(0, maxErrorLines)
    console.log([`${name} failed: ${title}`, ...lines].join('\n    '))
  }
  for (const { title, reason } of summary?.skipped ?? []) {
    console.log(`${name} skipped${isCi ? ' (a failure in CI)' : ''}: ${title}: ${reason}`)
  }
  passed += summary?.passed ?? 0
  failed += summary?.failed ?? 0
  skipped += summary?.skipped.length ?? 0
  // A step can fail without a failing test: no compile, no install, a crash.
  if (code === 0 || summary?.failed > 0) return
  failed++
  console.log(`${name} failed with exit code ${code}`)
}
