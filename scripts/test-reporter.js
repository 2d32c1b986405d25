import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import Mocha from 'mocha'

/**
 * Mocha's own report; below it the reasons of skipped tests and the seconds of the slowest files.
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
      this.#failures.push({ title: test.fullTitle(), error: error?.stack ?? String(error) })
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

/** Prints wall and CPU seconds of the slowest files, from the file of `suite-setup.ts`. */
function printTimes() {
  const source = process.env.TEST_TIMES_FILE
  if (source === undefined || !existsSync(source)) return
  const texts = readFileSync(source, 'utf8').trimEnd().split('\n')
  rmSync(dirname(source), { recursive: true })
  const files = texts.map(text => JSON.parse(text)).toSorted((a, b) => b.wall - a.wall)
  console.log('\n  wall s   CPU s  slowest files')
  for (const { file, wall, cpu } of files.slice(0, 30)) {
    console.log(`  ${wall.toFixed(1).padStart(7)} ${cpu.toFixed(1).padStart(7)}  ${file}`)
  }
  const cpu = files.reduce((sum, file) => sum + file.cpu, 0)
  console.log(`\n  ${cpu.toFixed(1)} s of CPU in ${files.length} files`)
}
