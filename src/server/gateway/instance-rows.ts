import type { InstanceDirectory, InstanceEntry, RecordFault } from './instance-directory.ts'
import { instanceRow, type InstanceRow, verboseRow, type VerboseRow } from './instance-row.ts'
import type { ShownLimits } from './shown.ts'

/** The directory as rows, made once for each state of an entry. */
export class InstanceRows {
  readonly #directory: InstanceDirectory
  readonly #source: string
  readonly #limits: ShownLimits
  readonly #compact = new WeakMap<InstanceEntry, InstanceRow>()
  readonly #verbose = new WeakMap<InstanceEntry, VerboseRow>()
  #entries: readonly InstanceEntry[] | undefined
  #faults: readonly RecordFault[] | undefined
  #version = 0

  constructor(directory: InstanceDirectory, source: string, limits: ShownLimits) {
    this.#directory = directory
    this.#source = source
    this.#limits = limits
  }

  /** Another number, another state. */
  get version(): number {
    const { entries, faults } = this.#directory
    if (entries !== this.#entries || faults !== this.#faults) {
      this.#entries = entries
      this.#faults = faults
      this.#version++
    }
    return this.#version
  }

  get entries(): readonly InstanceEntry[] {
    return this.#directory.entries
  }

  get faults(): readonly RecordFault[] {
    return this.#directory.faults
  }

  compact(): readonly InstanceRow[] {
    return this.entries.map(entry => this.row(entry))
  }

  verbose(): readonly VerboseRow[] {
    return this.entries.map(entry => this.verboseRow(entry))
  }

  row(entry: InstanceEntry): InstanceRow {
    return kept(this.#compact, entry, () => instanceRow(entry, this.#source, this.#limits))
  }

  verboseRow(entry: InstanceEntry): VerboseRow {
    return kept(this.#verbose, entry, () => verboseRow(entry, this.#source, this.#limits))
  }
}

function kept<Key extends object, Value>(
  values: WeakMap<Key, Value>,
  key: Key,
  make: () => Value,
): Value {
  const known = values.get(key)
  if (known !== undefined) return known
  const value = make()
  values.set(key, value)
  return value
}
