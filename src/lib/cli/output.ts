import type { Logger } from '../util/logger.ts'
import { jsonLine } from '../util/text.ts'
import { writeStdout } from './write-stdout.ts'

/** The output of a command: results on stdout, everything else on stderr. */
export interface Output {
  /**
   * Prints the result: its text, or with `--json` the object as one line. Rejects when stdout
   * cannot be written.
   */
  result(text: string, json: object): Promise<void>
  /** Prints a remark for the user; silent with `--json` or `--quiet`. */
  note(text: string): void
  /** Prints a warning once; the command goes on. */
  warn(text: string): void
}

/** The output on the streams of this process. */
export function processOutput({ json, quiet }: { json: boolean; quiet: boolean }): Output {
  const { stderr } = process
  const warned = new Set<string>()
  return {
    async result(text, object) {
      if (json) await writeStdout(jsonLine(object))
      else if (text !== '') await writeStdout(`${text}\n`)
    },
    note(text) {
      if (!json && !quiet) stderr.write(`${text}\n`)
    },
    warn(text) {
      if (!warned.has(text)) stderr.write(`warning: ${text}\n`)
      warned.add(text)
    },
  }
}

/** A logger for commands, which have no log: prints warnings and errors, drops the rest. */
export function warningsTo(output: Output): Logger {
  const warn = (_fields: object, message = ''): void => output.warn(message)
  return { debug: () => {}, info: () => {}, warn, error: warn }
}
