/** `npm run bench`: measures the server beside others in one run and prints tables of ratios. */
import { availableParallelism, cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { Bench } from './bench.ts'
import { measured, type Row } from './measure.ts'
import { startUpRow, whoamiRow } from './rows/commands.ts'
import { aggregateRow, joinedRow } from './rows/gateway.ts'
import { blobRow, initializeRow, listRow, putRow, readRow } from './rows/requests.ts'
import { sceneChangeRow } from './rows/scene-change.ts'
import { fanOutRow, memoryRow } from './rows/streams.ts'

const rows: Readonly<Record<string, (bench: Bench) => Promise<Row>>> = {
  read: readRow,
  list: listRow,
  initialize: initializeRow,
  blob: blobRow,
  put: putRow,
  fanout: fanOutRow,
  memory: memoryRow,
  startup: startUpRow,
  whoami: whoamiRow,
  'scene-change': sceneChangeRow,
  aggregate: aggregateRow,
  joined: joinedRow,
}

const help = `usage: npm run bench -- [row…] [--quick] [--against FILE]

rows: ${Object.keys(rows).join(', ')} (default: all)
--quick         fewer and shorter rounds
--against FILE  bin/run.js of another build, measured in turn with this one
`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', short: 'h' },
    quick: { type: 'boolean', default: false },
    against: { type: 'string' },
  },
})
if (values.help || !positionals.every(name => Object.hasOwn(rows, name))) {
  console.log(help)
  process.exit(values.help ? 0 : 2)
}

const { quick, against } = values
const bench = new Bench({ quick, against })
process.once('exit', () => bench.cleanUp())
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

console.log(`${availableParallelism()} x ${cpus()[0]?.model.trim()}, Node ${process.version}\n`)
for (const [name, describe] of Object.entries(rows)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue
  try {
    console.log(`== ${name}: ${await measured(await describe(bench))}`)
  } catch (error) {
    console.error(`${name}: ${(error as Error).message}`)
    process.exitCode = 1
  }
  await bench.stopAll()
}
