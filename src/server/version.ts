export { version } from '../lib/version.ts'
