package pseudonym

import (
	"encoding/json"
	"strings"

	"heddle/core/model"
)

// fact visits the names in a fact, and returns what stands for it.
func (w records) fact(fact model.Fact) model.Fact {
	switch f := fact.(type) {
	case model.ClusterFact:
		f.Version = phraseOfVersion(f.Version)
		renameWord(w.walk, &f.HAState, keptHAState)
		w.address(&f.Address)
		renameWord(w.walk, &f.Scheduler, keptScheduler)
		renameEach(f.Queues, func(q *model.Queue) { w.queue(&q.ID) })
		return f
	case model.NodesFact:
		renameEach(f.Nodes, w.nodeManager)
		return f
	case model.AppsFact:
		renameEach(f.Apps, w.application)
		return f
	case model.DataNodesFact:
		renameEach(f.DataNodes, func(d *model.DataNode) { w.host(&d.Host); w.rack(&d.Rack) })
		return f
	case model.BlocksFact:
		w.path(&f.Path)
		renameEach(f.Blocks, func(b *model.Block) { renameEach(b.Hosts, w.host); renameEach(b.Racks, w.rack) })
		return f
	case model.UplinkFact:
		renameWord(w.walk, &f.Method, keptMethod)
		renameEach(f.Samples, func(s *model.UplinkSample) { w.rack(&s.Rack) })
		return f
	case model.PollFact:
		renameWord(w.walk, &f.Result, keptPollResult)
		f.Error = phraseOfError(f.Error)
		return f
	case model.HistoryFact:
		renameEach(f.Jobs, w.runs)
		return f
	case model.PolicyFact:
		f.Params = string(w.params(f.Policy, json.RawMessage(f.Params)))
		return f
	case model.SampleFact:
		return f
	}
	return w.jobFact(fact)
}

// jobFact visits the names in a fact about one application.
func (w records) jobFact(fact model.Fact) model.Fact {
	switch f := fact.(type) {
	case model.RoundFact:
		w.app(&f.App)
		return f
	case model.AsksFact:
		w.app(&f.App)
		renameEach(f.Rows, func(r *model.AskRow) { w.resource(&r.ResourceName); renameWord(w.walk, &r.Stage, keptStage) })
		return f
	case model.ContainersFact:
		w.app(&f.App)
		renameEach(f.Containers, func(c *model.Container) { w.container(&c.ID); w.node(&c.Node) })
		renameEach(f.Blacklist, w.resource)
		return f
	case model.JobFact:
		w.app(&f.App)
		return f
	case model.JobConfFact:
		w.app(&f.App)
		renameEach(f.Inputs, w.path)
		w.path(&f.Output)
		w.workflow(f.Workflow)
		return f
	case model.TasksFact:
		w.app(&f.App)
		renameEach(f.Tasks, w.task)
		return f
	case model.CountersFact:
		w.app(&f.App)
		return f
	case model.GraphFact:
		w.app(&f.App)
		renameEach(f.Stages, w.graphStage)
		renameEach(f.Edges, func(e *model.GraphEdge) {
			rename(w.walk, vertex, &e.From)
			rename(w.walk, vertex, &e.To)
			renameWord(w.walk, &e.Kind, keptEdgeKind)
		})
		return f
	}
	w.fail("a fact %T, whose names are not known", fact)
	return fact
}

func (w records) nodeManager(n *model.Node) {
	w.node(&n.ID)
	w.host(&n.Host)
	w.rack(&n.Rack)
	renameWord(w.walk, &n.State, keptNodeState)
	w.address(&n.HTTPAddress)
}

func (w records) application(a *model.App) {
	w.app(&a.ID)
	w.job(&a.Name)
	w.user(&a.User)
	w.queue(&a.Queue)
	renameWord(w.walk, &a.Type, keptType)
	renameWord(w.walk, &a.State, keptAppState)
	w.node(&a.AMNode)
	tags := strings.Split(a.Tags, ",")
	renameEach(tags, func(s *string) { rename(w.walk, tag, s) })
	a.Tags = strings.Join(tags, ",")
}

func (w records) task(t *model.Task) {
	renameWord(w.walk, &t.Stage, keptStage)
	renameWord(w.walk, &t.State, keptTaskState)
	w.host(&t.Host)
	w.rack(&t.Rack)
	renameEach(t.Preferred, w.host)
}

func (w records) workflow(f *model.Workflow) {
	if f == nil {
		return
	}
	rename(w.walk, workflow, &f.ID)
	rename(w.walk, workflow, &f.Name)
	rename(w.walk, step, &f.Node)
	for i := range f.Edges {
		rename(w.walk, step, &f.Edges[i].Node)
		renameEach(f.Edges[i].Next, func(s *string) { rename(w.walk, step, s) })
	}
}

func (w records) graphStage(s *model.GraphStage) {
	rename(w.walk, vertex, &s.Name)
	renameEach(s.InputAt, func(b *model.RackBytes) { w.rack(&b.Rack) })
	renameEach(s.Placed, func(b *model.RackBytes) { w.rack(&b.Rack) })
}

func (w records) runs(j *model.JobRuns) {
	w.user(&j.User)
	w.job(&j.Name)
	renameEach(j.Runs, func(r *model.Run) { w.app(&r.App) })
}
