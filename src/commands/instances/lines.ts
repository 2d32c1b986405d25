import { columns, wrapWords } from '../../lib/cli/format.ts'
import { ageText, counted } from '../../lib/util/amounts.ts'
import { terminalWidth } from '../../lib/cli/output.ts'
import { absenceText } from '../../lib/instances/instance.ts'
import { cleanText } from '../../lib/util/text.ts'

/** The shown part of a row. */
export type ShownRow = Pick<
  import('../../server/gateway/instance-rows.ts').InstanceRow,
  | 'instance_short'
  | 'dcc_type'
  | 'version'
  | 'display_name'
  | 'status'
  | 'health'
  | 'reason'
  | 'scene'
  | 'scene_set_at'
  | 'mcp_url'
  | 'application'
>

const names = ['ID', 'APPLICATION', 'NAME', 'STATUS', 'HEALTH', 'SCENE', 'URL']
const maxNameChars = 40
const maxSceneChars = 60

/**
 * The URL is dropped last because clients need it, and the ID never. What is wrong with a row
 * stands below the table, so that its columns stay the same when a row changes its state.
 */
export function instanceTable(
  rows: readonly ShownRow[],
  width = terminalWidth(process.stdout),
  nowMs = Date.now(),
): string {
  const drop = ['HEALTH', 'SCENE', 'NAME', 'STATUS', 'URL']
  // The version is unknown while the application is away; its space decides which columns fit.
  const types = rows.map(row => row.dcc_type.length + ' 2025.1.0'.length)
  const least = { APPLICATION: Math.max(...types) }
  const table = columns(
    names,
    rows.map(row => cellsOf(row, nowMs)),
    { drop, width, least },
  )
  const troubles = rows
    .filter(row => healthText(row) !== row.health)
    .flatMap(row => wrapWords(healthText(row), width, `${row.instance_short}  `, indent))
  return [table, ...troubles].join('\n')
}

/** Below the ID, and below the time. */
const indent = ' '.repeat(10)

function cellsOf(row: ShownRow, nowMs: number): string[] {
  const { dcc_type, version } = row
  return [
    row.instance_short,
    version === null ? dcc_type : `${dcc_type} ${version}`,
    cleanText(row.display_name, maxNameChars),
    row.status,
    row.health,
    sceneText(row, nowMs),
    row.mcp_url ?? '',
  ]
}

/** The health, with the reason where something is wrong: a live server may lack its application. */
function healthText({ health, reason, application }: ShownRow): string {
  if (health !== 'live') return `${health}: ${reason}`
  const absence = absenceText(application)
  return absence === null ? health : `${health}: ${absence}`
}

/** The open document, or when a scene without one was set. */
export function sceneText(
  { scene, scene_set_at: setAt }: Pick<ShownRow, 'scene' | 'scene_set_at'>,
  nowMs: number,
): string {
  if (scene !== null) return shortenedPath(scene)
  return setAt === null ? '' : `set ${ageText(setAt, nowMs)}`
}

/** Keeps the end of a long path, which says more than its start. */
function shortenedPath(path: string): string {
  const clean = cleanText(path, 4096)
  return clean.length > maxSceneChars ? `…${clean.slice(1 - maxSceneChars)}` : clean
}

/**
 * One change: `12:30:05  changed   1a2b3c4d  blender 4.2  …`, continued on further lines where it
 * is wider than the terminal.
 */
export function changeLine(event: string, row: ShownRow, time: Date, width = Infinity): string {
  const cells = cellsOf(row, time.getTime())
  cells[names.indexOf('HEALTH')] = healthText(row)
  const shown = cells.map(cell => cleanText(cell) || '-')
  const first = `${time.toTimeString().slice(0, 8)}  ${event.padEnd(8)}`
  return wrapWords([first, ...shown].join('  '), width, '', indent).join('\n')
}

/** The text for an empty list. `dead`: instances that ended, where they are not shown. */
export function emptyText(registryDir: string, dead: number, isFiltered: boolean): string {
  const ended = dead === 0 ? [] : [`${counted(dead, 'instance')} ended; --all shows them.`]
  if (isFiltered) return ['No instance matches.', ...ended].join(' ')
  return [
    `No server running (looked in ${registryDir}).`,
    ...ended,
    'Start:  service-cli serve --dcc-type blender',
    'Find out why one is missing:  service-cli doctor',
  ].join('\n')
}
