import { parseArgs } from 'node:util'
import { targetNames, type TargetName } from './targets.ts'

export interface BenchArguments {
  readonly help: boolean
  readonly rows: readonly string[]
  readonly quick: boolean
  readonly markdown: boolean
  readonly json: string | undefined
  readonly entry: string
  /** Whether the reference is built and measured, too. */
  readonly withReference: boolean
  readonly targets: readonly TargetName[]
}

/** Throws an error with a readable message on an unknown row, server or flag. */
export function parseBenchArguments(
  argv: readonly string[],
  known: readonly string[],
  defaultEntry: string,
): BenchArguments {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      quick: { type: 'boolean', default: false },
      markdown: { type: 'boolean', default: false },
      json: { type: 'string' },
      entry: { type: 'string', default: defaultEntry },
      reference: { type: 'boolean', default: false },
      servers: { type: 'string' },
    },
  })
  const servers = values.servers?.split(',') ?? targetNames.filter(name => name !== 'reference')
  return {
    help: values.help,
    rows: positionals.length === 0 ? known : chooseFrom(known, positionals, 'row'),
    quick: values.quick,
    markdown: values.markdown,
    json: values.json,
    entry: values.entry,
    withReference: values.reference,
    targets: chooseFrom(
      targetNames,
      values.reference ? [...servers, 'reference'] : servers,
      'server',
    ),
  }
}

/** The wanted ones in the order of all; an unknown one is an error that names them all. */
export function chooseFrom<T extends string>(
  all: readonly T[],
  wanted: readonly string[],
  what: string,
): T[] {
  const unknown = wanted.find(name => !all.some(one => one === name))
  if (unknown !== undefined) {
    throw new Error(`no ${what} is called "${unknown}"; there are: ${all.join(', ')}`)
  }
  return all.filter(one => wanted.includes(one))
}
