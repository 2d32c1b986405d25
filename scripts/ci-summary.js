// node scripts/ci-summary.js FOLDER
//
// Adds up what the suites left in FOLDER: <suite>.json from the reporter, <suite>.code with the
// exit code of the step. Prints what failed once more: whoever has the end of a long output only
// must see it. The last line is `N passed, N failed`, with `, N skipped` when there are
// any; in CI a skipped test counts as failed. Exit 1 when anything failed.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const maxErrorLines = 30
const maxLineChars = 400

/**
 * @param {{name: string, code: number, summary: {passed: number, failed: number,
 *   skipped: {title: string, reason: string}[],
 *   failures?: {title: string, error: string}[]} | null}[]} steps
 * @param {boolean} ci
 * @returns {{lines: string[], failed: number}}
 */
export function summarise(steps, ci) {
  const lines = []
  let passed = 0
  let failed = 0
  let skipped = 0
  for (const { name, code, summary } of steps) {
    passed += summary?.passed ?? 0
    failed += summary?.failed ?? 0
    for (const { title, error } of summary?.failures ?? []) {
      lines.push(`${name} failed: ${title}`, ...shortened(error))
    }
    // A step can fail without a failing test: no compile, no install, a crash.
    if (code !== 0 && !summary?.failed) {
      failed++
      lines.push(`${name} failed with exit code ${code}`)
    }
    for (const { title, reason } of summary?.skipped ?? []) {
      lines.push(`${name} skipped${ci ? ' (a failure in CI)' : ''}: ${title}: ${reason}`)
      if (ci) failed++
      else skipped++
    }
  }
  const tail = skipped === 0 ? '' : `, ${skipped} skipped`
  lines.push(`${passed} passed, ${failed} failed${tail}`)
  return { lines, failed }
}

/** The first lines of an error, indented. */
function shortened(error) {
  const lines = error.split('\n')
  const shown = lines.slice(0, maxErrorLines).map(line => `    ${line.slice(0, maxLineChars)}`)
  return lines.length > maxErrorLines ? [...shown, '    …'] : shown
}

function readSteps(folder) {
  const files = readdirSync(folder).sort()
  return files
    .filter(file => file.endsWith('.code'))
    .map(file => {
      const name = basename(file, '.code')
      const code = Number(readFileSync(join(folder, file), 'utf8'))
      const summary = files.includes(`${name}.json`)
        ? JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'))
        : null
      return { name, code, summary }
    })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { lines, failed } = summarise(readSteps(process.argv[2] ?? '.'), process.env.CI === 'true')
  for (const line of lines) console.log(line)
  process.exitCode = failed === 0 ? 0 : 1
}
