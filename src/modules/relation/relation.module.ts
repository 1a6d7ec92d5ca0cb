import { Module } from '@nestjs/common';
import { RelationService } from './relation.service.js';

@Module({ providers: [RelationService], exports: [RelationService] })
export class RelationModule {}
