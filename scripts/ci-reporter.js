import { writeFileSync } from 'node:fs'
import { inspect } from 'node:util'
import Mocha from 'mocha'

/**
 * Mocha's own report, the reasons of skipped tests below it, and in the file named by
 * `--reporter-option summary=FILE` the counts and what failed.
 */
export default class CiReporter extends Mocha.reporters.Spec {
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
    const { passes: passed, failures: failed } = this.stats
    const summary = { passed, failed, skipped: this.#skipped, failures: this.#failures }
    if (this.#file !== undefined) writeFileSync(this.#file, `${JSON.stringify(summary)}\n`)
    exit(failures)
  }
}

/** Message and stack, once; of an assertion also what was expected and what was there. */
function textOf(error) {
  const { message = String(error), stack = '', expected, actual } = error ?? {}
  const told = stack.includes(message) ? stack : `${message}\n${stack}`
  if (expected === undefined && actual === undefined) return told
  return `${told}\nexpected: ${inspect(expected)}\nactual: ${inspect(actual)}`
}
