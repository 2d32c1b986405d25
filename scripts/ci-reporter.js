import { writeFileSync } from 'node:fs'
import Mocha from 'mocha'

/**
 * Mocha's own report, the reasons of skipped tests below it, and the counts in the file named by
 * `--reporter-option summary=FILE`.
 */
export default class CiReporter extends Mocha.reporters.Spec {
  #skipped = []
  #file

  constructor(runner, options) {
    super(runner, options)
    this.#file = options.reporterOption?.summary
    runner.on('pending', test => {
      this.#skipped.push({ title: test.fullTitle(), reason: reasonOf(test) })
    })
  }

  /** Called by Mocha once all is run and reported. */
  done(failures, exit) {
    for (const { title, reason } of this.#skipped) console.log(`  skipped: ${title}: ${reason}`)
    const { passes: passed, failures: failed } = this.stats
    const summary = { passed, failed, skipped: this.#skipped }
    if (this.#file !== undefined) writeFileSync(this.#file, `${JSON.stringify(summary)}\n`)
    exit(failures)
  }
}

function reasonOf(test) {
  for (let each = test; each !== undefined; each = each.parent) {
    if (typeof each.skipReason === 'string') return each.skipReason
  }
  return 'no reason given'
}
