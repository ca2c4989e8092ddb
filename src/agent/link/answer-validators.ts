import { Compile } from 'typebox/compile';
import { agentRoutes } from '../../protocol/routes.ts';

/** Compiled validators of the service's answers. Loaded with the first answer that needs one. */
export const answerValidators = {
  claim: Compile(agentRoutes.claim.response),
  renew: Compile(agentRoutes.renew.response),
  results: Compile(agentRoutes.results.response),
  release: Compile(agentRoutes.release.response),
  events: Compile(agentRoutes.events.response),
  artifactStates: Compile(agentRoutes.artifactStates.response),
};
