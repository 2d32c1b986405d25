import { hostname } from 'node:os'
import { RequestRefused, type X11Connection } from './connection.ts'
import { atoms, numbersOf, type Property, replies, requests } from './wire.ts'

/** Names that window managers and applications have agreed on (ICCCM, EWMH). */
const names = [
  '_NET_ACTIVE_WINDOW',
  '_NET_CLIENT_LIST',
  '_NET_CLIENT_LIST_STACKING',
  '_NET_SUPPORTING_WM_CHECK',
  '_NET_WM_NAME',
  '_NET_WM_PID',
  '_NET_WM_STATE',
  '_NET_WM_STATE_HIDDEN',
  '_NET_WM_WINDOW_TYPE',
  '_NET_WM_WINDOW_TYPE_NORMAL',
  'WM_STATE',
] as const

type AtomName = (typeof names)[number]
type Atoms = Readonly<Record<AtomName, number>>

/** Asks a display about windows that may be gone by the time the question arrives. */
export interface Questions {
  readonly atoms: Atoms
  /** Null when the window is gone. */
  ask(request: Buffer): Promise<Buffer | null>
  property(window: number, name: number): Promise<Property | null>
  numbers(window: number, name: number): Promise<number[]>
}

export async function askAbout(connection: X11Connection, maxBytes: number): Promise<Questions> {
  const found = await Promise.all(
    names.map(async name => [name, await atomOf(connection, name)] as const),
  )
  const ask = (request: Buffer): Promise<Buffer | null> =>
    connection.ask(request).catch((error: unknown) => {
      if (error instanceof RequestRefused) return null
      throw error
    })
  const property = async (window: number, name: number): Promise<Property | null> => {
    // An atom that does not exist is on no window.
    if (name === 0) return null
    const reply = await ask(requests.getProperty(window, name, maxBytes))
    return reply === null ? null : replies.property(reply)
  }
  return {
    atoms: Object.fromEntries(found) as Record<AtomName, number>,
    ask,
    property,
    numbers: async (window, name) => numbersIn(await property(window, name)),
  }
}

export async function atomOf(connection: X11Connection, name: string): Promise<number> {
  return replies.atom(await connection.ask(requests.internAtom(name)))
}

function numbersIn(property: Property | null): number[] {
  return property?.width === 4 ? numbersOf(property.value) : []
}

/** The process of a window; null when it does not say, or says it of another machine. */
export async function pidOf(questions: Questions, window: number): Promise<number | null> {
  const [pids, machine] = await Promise.all([
    questions.numbers(window, questions.atoms._NET_WM_PID),
    questions.property(window, atoms.wmClientMachine),
  ])
  const [pid = 0] = pids
  return pid > 0 && isThisMachine(textOf(machine), hostname()) ? pid : null
}

/** The title that is shown, at most as long as was asked for. */
export async function titleOf(questions: Questions, window: number): Promise<string> {
  const [name, old] = await Promise.all([
    questions.property(window, questions.atoms._NET_WM_NAME),
    questions.property(window, atoms.wmName),
  ])
  return name !== null && name.value.length > 0 ? textOf(name) : textOf(old)
}

function textOf(property: Property | null): string {
  if (property === null || property.width !== 1) return ''
  const text = property.value.toString(property.type === atoms.string ? 'latin1' : 'utf8')
  return text.replace(/\p{Cc}+/gu, ' ').trim()
}

/**
 * Some programs name their machine with its domain, some without. One that names none is taken to
 * be here: only displays of this machine are asked.
 */
export function isThisMachine(named: string, here: string): boolean {
  const [a, b] = [named.toLowerCase(), here.toLowerCase()]
  if (a === '' || a === b) return true
  const oneIsShort = a.includes('.') !== b.includes('.')
  return oneIsShort && a.split('.')[0] === b.split('.')[0]
}
