// Adds one to a number in the configuration file, again and again, beside other processes.
import { createConfigStore } from '../../../src/lib/config/config-store.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'

const [path = '', times = '1'] = process.argv.slice(2)
const store = createConfigStore({ path, log: silentLogger, lockWaitMs: 60_000 })
for (let done = 0; done < Number(times); done++) {
  await store.update(config => {
    const count = config.others?.['count']
    const next = (typeof count === 'bigint' ? count : 0n) + 1n
    return { ...config, others: { ...config.others, count: next } }
  })
}
