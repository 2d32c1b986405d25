import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import * as Flags from '@oclif/core/flags'
import { writeOutputFile } from '../../lib/cli/output-file.ts'
import { writeStdout } from '../../lib/cli/output.ts'
import { usage } from '../../lib/util/errors.ts'

/** Flags of the commands that write one file. */
export const outputFlags = {
  out: Flags.string({
    char: 'o',
    description: 'file to write; - writes to stdout',
    helpValue: 'FILE',
  }),
  force: Flags.boolean({ char: 'f', description: 'replace an existing file' }),
}

interface OutputChoice {
  out?: string
  force: boolean
  json: boolean
  quiet: boolean
}

interface Product {
  readonly bytes: Uint8Array
  readonly defaultName: string
  /** What to do next, for people. */
  nextSteps(file: string): string
}

/** What cannot work is said before any work is done. No terminal should be shown a zip. */
export function checkOutput(
  { out, json }: Pick<OutputChoice, 'out' | 'json'>,
  terminal: boolean,
): void {
  if (out === '') throw usage('--out is empty', 'a variable in your shell may be unset')
  if (out !== '-') return
  if (json) throw usage('--json and --out - both want stdout', 'write to a file')
  if (terminal) {
    throw usage('--out - would fill the terminal with a zip', 'lead it into a file or a pipe')
  }
}

/** Writes the product where it was asked for, and says so. */
export async function writeProduct(product: Product, choice: OutputChoice): Promise<void> {
  const { bytes } = product
  if (choice.out === '-') return writeStdout(bytes)
  const file = choice.out ?? product.defaultName
  await writeOutputFile(file, bytes, { force: choice.force })
  if (choice.json) {
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const line = { event: 'written', file: resolve(file), bytes: bytes.length, sha256 }
    await writeStdout(`${JSON.stringify(line)}\n`)
  } else if (!choice.quiet) {
    await writeStdout(`wrote ${file} (${bytes.length} bytes)\n\n${product.nextSteps(file)}\n`)
  }
}
