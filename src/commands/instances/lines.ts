import { columns, wrapWords } from '../../lib/cli/format.ts'
import { terminalWidth } from '../../lib/cli/output.ts'
import { absenceText } from '../../lib/instances/process.ts'
import { ageText, counted } from '../../lib/util/amounts.ts'
import { cleanText } from '../../lib/util/text.ts'

type InstanceRow = import('../../server/gateway/instance-rows.ts').InstanceRow

const names = ['ID', 'APPLICATION', 'NAME', 'STATE', 'SCENE', 'URL']
/** The URL is dropped last because clients need it, and the ID never. */
const drop = ['SCENE', 'NAME', 'STATE', 'URL']
const maxNameChars = 40
const maxSceneChars = 60
/** Below the ID. */
const indent = ' '.repeat(10)

/** What is wrong with a row stands below the table. */
export function instanceTable(
  rows: readonly InstanceRow[],
  width = terminalWidth(process.stdout),
): string {
  const table = columns(names, rows.map(cellsOf), { drop, width })
  const troubles = rows
    .filter(row => troubleOf(row) !== null)
    .flatMap(row => wrapWords(stateText(row), width, `${row.instance_short}  `, indent))
  return [table, ...troubles].join('\n')
}

function cellsOf(row: InstanceRow): string[] {
  const { dcc_type, version } = row
  return [
    row.instance_short,
    version === null ? dcc_type : `${dcc_type} ${version}`,
    cleanText(row.display_name, maxNameChars),
    stateOf(row),
    sceneCell(row),
    row.mcp_url ?? '',
  ]
}

/** Why clients do not reach the application; null: nothing is wrong. */
function troubleOf({ health, reason, application }: InstanceRow): string | null {
  return health === 'live' ? absenceText(application) : reason
}

/** The status; a live server may lack its application. */
function stateOf(row: InstanceRow): string {
  return row.health === 'live' && troubleOf(row) !== null ? 'disconnected' : row.status
}

function stateText(row: InstanceRow): string {
  const trouble = troubleOf(row)
  return trouble === null ? stateOf(row) : `${stateOf(row)}: ${trouble}`
}

/** The open document, shortened at its start, or when a scene without one was set. */
export function sceneCell({
  scene,
  scene_set_at: setAt,
}: Pick<InstanceRow, 'scene' | 'scene_set_at'>): string {
  if (scene === null) return setAt === null ? '' : `set ${ageText(setAt)}`
  const path = cleanText(scene, 4096)
  return path.length > maxSceneChars ? `…${path.slice(1 - maxSceneChars)}` : path
}

/** One change: `12:30:05  changed   1a2b3c4d  blender 4.2  …`. */
export function changeLine(event: string, row: InstanceRow, time = new Date()): string {
  const cells = cellsOf(row)
  cells[names.indexOf('STATE')] = stateText(row)
  const shown = cells.map(cell => cleanText(cell) || '-')
  return [time.toTimeString().slice(0, 8), event.padEnd(8), ...shown].join('  ')
}

/** The text for an empty list. `dead`: instances that ended, where they are not shown. */
export function emptyText(registryDir: string, dead: number, isFiltered: boolean): string {
  const ended = dead === 0 ? '' : ` ${counted(dead, 'instance')} ended; --all shows them.`
  if (isFiltered) return `No instance matches.${ended}`
  return `No server running (looked in ${registryDir}).${ended}
Start:  service-cli serve --dcc-type blender
Find out why one is missing:  service-cli doctor`
}
