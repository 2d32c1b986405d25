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

export interface OutputParts {
  readonly json: boolean
  readonly quiet: boolean
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
}

/** The stdout of this process; rejects when it cannot be written. */
export const processStdout = { write: writeStdout }

export function createOutput({ json, quiet, stdout, stderr }: OutputParts): Output {
  const warned = new Set<string>()
  return {
    async result(text, object) {
      await stdout.write(json ? jsonLine(object) : text === '' ? '' : `${text}\n`)
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

/** The output on the streams of this process. */
export function processOutput({ json, quiet }: Pick<OutputParts, 'json' | 'quiet'>): Output {
  return createOutput({ json, quiet, stdout: processStdout, stderr: process.stderr })
}

/** A logger for commands, which have no log: prints warnings and errors, drops the rest. */
export function warningsTo(output: Output): Logger {
  const warn = (_fields: object, message = ''): void => output.warn(message)
  return { debug: () => {}, info: () => {}, warn, error: warn }
}
