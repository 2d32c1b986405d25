/** `npm run bench`: measures the server beside others in one run and prints tables of ratios. */
import { availableParallelism, cpus, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Bench } from './bench.ts'
import { printed, type Table } from './measure.ts'
import { measureAggregate, measureJoined } from './rows/gateway.ts'
import { measureBlob, measureInitialize, measureList, measureRead } from './rows/requests.ts'
import { measureFanOut, measureMemory } from './rows/streams.ts'
import { measurePut } from './rows/put.ts'
import { measureSceneChange } from './rows/scene-change.ts'
import { measureStartUp, measureWhoami } from './rows/commands.ts'

const rows: Readonly<Record<string, (bench: Bench) => Promise<Table>>> = {
  read: measureRead,
  list: measureList,
  initialize: measureInitialize,
  blob: measureBlob,
  put: measurePut,
  fanout: measureFanOut,
  memory: measureMemory,
  startup: measureStartUp,
  whoami: measureWhoami,
  'scene-change': measureSceneChange,
  aggregate: measureAggregate,
  joined: measureJoined,
}

const help = `usage: npm run bench -- [row…] [--quick] [--against FILE]

rows: ${Object.keys(rows).join(', ')} (default: all)
--quick         fewer and shorter rounds
--against FILE  bin/run.js of another build, measured in turn with this one
`

/** Whatever hangs, the run ends. */
const limitMs = 20 * 60_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', short: 'h' },
    quick: { type: 'boolean', default: false },
    against: { type: 'string' },
  },
})
const unknown = positionals.find(name => !Object.hasOwn(rows, name))
if (values.help || unknown !== undefined) {
  if (unknown !== undefined) process.stderr.write(`there is no row "${unknown}"\n`)
  process.stdout.write(help)
  process.exit(unknown === undefined ? 0 : 2)
}

const { quick, against } = values
const entry = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const bench = new Bench({ quick, entry, against })
process.once('exit', () => bench.cleanUp())
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
setTimeout(() => {
  process.stderr.write('the run took too long\n')
  process.exit(1)
}, limitMs).unref()

const gib = Math.round(totalmem() / 1024 ** 3)
const { node, v8 } = process.versions
console.log(
  `${availableParallelism()} x ${cpus()[0]?.model.trim()}, ${gib} GiB, Node ${node}, V8 ${v8}\n`,
)
for (const [name, measure] of Object.entries(rows)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue
  try {
    console.log(printed(name, await measure(bench)))
  } catch (error) {
    console.error(`${name}: ${(error as Error).message}`)
    process.exitCode = 1
  }
  await bench.stopAll()
}
