import { Module } from '@nestjs/common';
import { TopicService } from './topic.service.js';

@Module({ providers: [TopicService], exports: [TopicService] })
export class TopicModule {}
