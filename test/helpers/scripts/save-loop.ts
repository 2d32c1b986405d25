// Saves one login after the other until it is killed, and says which ones were saved.
import { updateConfig, withLogin } from '../../../src/lib/config/config-file.ts'
import { Secret } from '../../../src/lib/util/secret.ts'

const [path = '', first = '0'] = process.argv.slice(2)
const url = 'https://registry.example'
for (let at = Number(first); at < Number(first) + 100_000; at++) {
  const tokens = { access_token: new Secret(`token-${at}-${'x'.repeat(20_000)}`) }
  await updateConfig(path, config => withLogin(config, url, { username: `user-${at}`, ...tokens }))
  process.stdout.write(`${at}\n`)
}
