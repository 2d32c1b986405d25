export { type Timer, systemTimer } from '../../lib/util/time.ts'
