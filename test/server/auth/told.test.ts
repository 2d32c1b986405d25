import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { monotonicClock, systemClock, systemTimer } from '../../../src/lib/util/time.ts'
import { type Logger, silentLogger } from '../../../src/lib/util/logger.ts'
import type { Auth } from '../../../src/server/auth/auth.ts'
import { createAuth } from '../../../src/server/auth/create-auth.ts'
import { resolveAuthLimits } from '../../../src/server/auth/limits.ts'
import { makeKeys, type TestKeys } from '../../helpers/keyed-server.ts'
import { until } from '../../helpers/until.ts'

describe('what the log says of keys', () => {
  let keys: TestKeys
  let auth: Auth | null = null
  let warnings: string[] = []
  beforeEach(async () => {
    keys = await makeKeys()
    warnings = []
  })
  afterEach(async () => {
    await auth?.close()
    await keys.remove()
  })

  async function start(key?: string): Promise<void> {
    const log: Logger = {
      ...silentLogger,
      warn: (_fields, message) => void warnings.push(message ?? ''),
    }
    auth = await createAuth(
      { mode: 'api-key', keysFile: keys.store.path, ...(key !== undefined && { key }) },
      {
        mcpUrl: () => 'http://127.0.0.1:1/mcp',
        limits: resolveAuthLimits({ keysPollMs: 20 }),
        clock: systemClock,
        ticks: monotonicClock,
        timer: systemTimer,
        log,
      },
    )
  }

  it('warns of a key that can be guessed, without showing it', async () => {
    await start('blender1')
    expect(warnings).to.have.length(1)
    expect(warnings[0]).to.contain('can be guessed').and.not.to.contain('blender1')
  })

  it('says nothing of a key that is long enough, or of named ones', async () => {
    await keys.create('anna')
    await start('sixteen-letters!')
    expect(warnings).to.deep.equal([])
  })

  it('warns when the keys file disappears that a restart may open the server', async () => {
    await keys.create('anna')
    await start()
    await rm(keys.store.path)
    await until(() => warnings.length > 0, 'told')
    expect(warnings.join()).to.contain('the keys file is missing').and.to.contain('--auth api-key')
  })
})
