import { columns, counted } from '../../lib/cli/format.ts'
import { asTyped } from '../../lib/cli/own-command.ts'
import { absenceText } from '../../lib/instances/instance.ts'
import { cleanText } from '../../lib/util/text.ts'

/** The shown part of a row. */
export interface ShownRow {
  readonly instance_short: string
  readonly dcc_type: string
  readonly version: string | null
  readonly display_name: string
  readonly status: string
  readonly health: string
  readonly reason: string
  readonly scene: string | null
  readonly mcp_url: string
  readonly application?: { readonly connected: boolean; readonly since: string | null }
}

const names = ['ID', 'APPLICATION', 'NAME', 'STATUS', 'HEALTH', 'SCENE', 'URL']
const maxNameChars = 40
const maxSceneChars = 60

/**
 * The URL is dropped last because clients need it, and the ID never. HEALTH is dropped first while
 * every row is live with its application, and otherwise never.
 */
export function instanceTable(rows: readonly ShownRow[], width?: number): string {
  const isWell = rows.every(row => row.health === 'live' && liveHealth(row) === 'live')
  const drop = [...(isWell ? ['HEALTH'] : []), 'SCENE', 'NAME', 'STATUS', 'URL']
  return columns(names, rows.map(cellsOf), { drop, ...(width !== undefined && { width }) })
}

/** Shows the reason only of rows that are not live. */
function cellsOf(row: ShownRow): string[] {
  const { dcc_type, version, health, reason, scene } = row
  return [
    row.instance_short,
    version === null ? dcc_type : `${dcc_type} ${version}`,
    cleanText(row.display_name, maxNameChars),
    row.status,
    health === 'live' ? liveHealth(row) : `${health}: ${reason}`,
    scene === null ? '' : shortenedPath(scene),
    row.mcp_url,
  ]
}

/** A live server without its application still shows the last state. */
function liveHealth({ health, application }: ShownRow): string {
  const absence = application === undefined ? null : absenceText(application)
  return absence === null ? health : `${health}: ${absence}`
}

/** Keeps the end of a long path, which says more than its start. */
function shortenedPath(path: string): string {
  const clean = cleanText(path, 4096)
  return clean.length > maxSceneChars ? `…${clean.slice(1 - maxSceneChars)}` : clean
}

/** One change, as a line: `12:30:05  changed   1a2b3c4d  blender 4.2  …` */
export function changeLine(event: string, row: ShownRow, time: Date): string {
  const clock = time.toTimeString().slice(0, 8)
  const cells = cellsOf(row).map(cell => cleanText(cell) || '-')
  return [clock, event.padEnd(8), ...cells].join('  ')
}

interface Hidden {
  readonly dead: number
  readonly registryDir: string
  /** A filter was given. */
  readonly filtered: boolean
}

/** The text for an empty list. */
export function emptyText({ dead, registryDir, filtered }: Hidden): string {
  const ended = dead === 0 ? [] : [`${counted(dead, 'instance')} ended; --all shows them.`]
  if (filtered) return ['No instance matches.', ...ended].join(' ')
  return [
    `No server running (looked in ${registryDir}).`,
    ...ended,
    asTyped('Start:  service-cli serve --dcc-type blender'),
    asTyped('Find out why one is missing:  service-cli doctor'),
  ].join('\n')
}
