// Makes itself known as an instance, and beats, until it is killed or its stdin ends.
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { processStart } from '../../../src/lib/util/process.ts'
import { InstanceFile } from '../../../src/server/host/instance-record.ts'
import { makeRecord } from '../../server/gateway/support.ts'

const [instancesDir = '', instanceId = ''] = process.argv.slice(2)
const file = await InstanceFile.create({
  instancesDir,
  record: makeRecord({
    instance_id: instanceId,
    pid: process.pid,
    pid_start: await processStart(process.pid),
  }),
  heartbeatMs: 20,
  log: silentLogger,
})
process.stdout.write('known\n')
process.stdin.resume()
process.stdin.once('end', async () => {
  await file.remove()
  process.exit(0)
})
