import { signal } from '@preact/signals'
import type { NoteProof } from '../../src/lib/mcp/note-proof.ts'
import { type Carrier, readJson } from '../mcp/carrier.ts'
import { refresher } from './refresh.ts'

/** `notes://all`: what a list says of a note. */
export interface NoteRow {
  readonly id: string
  readonly number: number
  readonly state: 'open' | 'answered' | 'accepted' | 'reopened' | 'closed'
  readonly text: string
  readonly author: string
  readonly created_at: string
  readonly targets: readonly string[]
}

/** `notes://{id}` */
export interface NoteDetail extends Omit<NoteRow, 'targets'> {
  readonly targets: readonly {
    readonly id: string
    readonly name: string
    readonly was?: string
    readonly gone?: boolean
  }[]
  readonly before?: string
  readonly pin?: readonly [number, number]
  readonly no_picture?: string
  readonly entries: readonly NoteEntry[]
}

export interface NoteEntry {
  readonly action: 'answer' | 'accept' | 'reopen' | 'close'
  readonly by: string
  readonly at: string
  readonly text?: string
  readonly late?: boolean
  readonly proof?: NoteProof
}

/** The notes of the open document. */
export class NotesState {
  /** Newest first; null until they are known. */
  readonly rows = signal<readonly NoteRow[] | null>(null)
  /** Moves on with each change of any note. */
  readonly version = signal(0)
  readonly #carrier: Carrier

  constructor(carrier: Carrier) {
    this.#carrier = carrier
    const refresh = refresher(500, async () => {
      this.rows.value = await this.#read()
      this.version.value++
    })
    carrier.follow('notes://open', refresh)
  }

  detail(id: string): Promise<NoteDetail> {
    return readJson<NoteDetail>(this.#carrier, `notes://${id}`)
  }

  async #read(): Promise<readonly NoteRow[]> {
    const rows: NoteRow[] = []
    let next: number | undefined = 0
    while (next !== undefined) {
      const uri: string = `notes://all?offset=${next}&limit=100`
      const page: { notes: NoteRow[]; next_offset?: number } = await readJson(this.#carrier, uri)
      rows.push(...page.notes)
      next = page.next_offset
    }
    return rows.toReversed()
  }
}

/** Does it wait for the person who made it? */
export function waitsForPerson({ state }: Pick<NoteRow, 'state'>): boolean {
  return state === 'answered'
}
