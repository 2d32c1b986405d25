import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { inspect } from 'node:util'
import Mocha from 'mocha'

/**
 * Mocha's own report; below it the reasons of skipped tests and the seconds of files and folders.
 * `--reporter-option summary=FILE` names a file for the counts and what failed.
 */
export default class TestReporter extends Mocha.reporters.Spec {
  #skipped = []
  #failures = []
  #file

  constructor(runner, options) {
    super(runner, options)
    this.#file = options.reporterOption?.summary
    runner.on('fail', (test, error) => {
      this.#failures.push({ title: test.fullTitle(), error: textOf(error) })
    })
    runner.on('pending', test => {
      const reason = test.err?.message ?? 'no reason given'
      this.#skipped.push({ title: test.fullTitle(), reason })
    })
  }

  /** Called by Mocha once all is run and reported. */
  done(failures, exit) {
    for (const { title, reason } of this.#skipped) console.log(`  skipped: ${title}: ${reason}`)
    printTimes()
    const { passes: passed, failures: failed } = this.stats
    const summary = { passed, failed, skipped: this.#skipped, failures: this.#failures }
    if (this.#file !== undefined) writeFileSync(this.#file, `${JSON.stringify(summary)}\n`)
    exit(failures)
  }
}

/** Prints wall and CPU seconds of the slowest files and of each folder, from the file of `suite-setup.ts`. */
function printTimes() {
  const source = process.env.TEST_TIMES_FILE
  if (source === undefined || !existsSync(source)) return
  const files = readFileSync(source, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  rmSync(dirname(source), { recursive: true })
  const folders = new Map()
  for (const { file, wall, cpu } of files) {
    const folder = file.split('/').slice(0, 3).slice(0, -1).join('/') || file
    const sum = folders.get(folder) ?? { file: folder, wall: 0, cpu: 0, count: 0 }
    folders.set(folder, {
      file: folder,
      wall: sum.wall + wall,
      cpu: sum.cpu + cpu,
      count: sum.count + 1,
    })
  }
  const byWall = (a, b) => b.wall - a.wall
  const slowest = files.sort(byWall).slice(0, 30)
  const line = ({ file, wall, cpu, count }) =>
    `  ${wall.toFixed(1).padStart(7)} ${cpu.toFixed(1).padStart(7)}  ${file}${count ? ` (${count} files)` : ''}`
  console.log('\n  wall s   CPU s  slowest files')
  for (const file of slowest) console.log(line(file))
  console.log('\n  wall s   CPU s  folders')
  for (const folder of [...folders.values()].sort(byWall)) console.log(line(folder))
  const cpu = files.reduce((sum, file) => sum + file.cpu, 0)
  console.log(`\n  ${cpu.toFixed(1)} s of CPU in ${files.length} files`)
}

/** Message and stack, once; of an assertion also what was expected and what was there. */
function textOf(error) {
  const { message = String(error), stack = '', expected, actual } = error ?? {}
  const told = stack.includes(message) ? stack : `${message}\n${stack}`
  if (expected === undefined && actual === undefined) return told
  return `${told}\nexpected: ${inspect(expected)}\nactual: ${inspect(actual)}`
}
