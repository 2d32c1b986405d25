import { describeLinkSoak } from '../e2e/host-link-soak-suite.ts'

describeLinkSoak(Number(process.env.LINK_SECONDS ?? 120))
