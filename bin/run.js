#!/usr/bin/env node
// Read by whatever Node is first in PATH: no syntax and no named import that Node 12 lacks.
import fs from 'node:fs'
import module from 'node:module'

const pjson = JSON.parse(fs.readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const args = process.argv.slice(2)

if (isOlder(process.versions.node, pjson.engines.node)) {
  const needed = pjson.engines.node.replace('>=', '')
  fail(`service-cli needs Node ${needed} or newer, this is ${process.versions.node}`)
} else if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
  // Answered here because loading the commands takes several times as long as Node itself.
  process.stdout.on('error', () => process.exit(0))
  const machine = `${process.platform}-${process.arch}`
  process.stdout.write(`service-cli/${pjson.version} ${machine} node-${process.version}\n`)
} else {
  process.title = 'service-cli'
  module.enableCompileCache()
  const entry = new URL('../dist/main.js', import.meta.url)
  if (fs.existsSync(entry)) {
    // No top-level await: with a closed pipe Node would end with 13 and a warning.
    import(entry.href).then(main => main.main(args, { root: packageRoot(), pjson }))
  } else {
    fail('service-cli is not built: run npm run build first')
  }
}

function isOlder(version, range) {
  const have = version.split('.').map(Number)
  const need = range.replace('>=', '').split('.').map(Number)
  return have[0] < need[0] || (have[0] === need[0] && have[1] < (need[1] || 0))
}

function packageRoot() {
  return new URL('..', import.meta.url).href
}

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exitCode = 1
}
